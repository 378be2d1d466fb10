import type { Command } from 'commander';
import { TYPE_NAMES } from '../../model/dns-types.js';
import type { CommandContext } from '../command-context.js';
import { writeText } from '../output.js';

/** Each asks `dms complete` when Tab is pressed; where it prints nothing, the shell completes file names. */
const SCRIPTS = {
  // What is before the last = or : of a word is in the line already (COMP_WORDBREAKS).
  bash: `# Completion of dms for bash, made by dms completion bash.
_dms() {
  local line=\${COMP_LINE:0:COMP_POINT}
  local word=\${line##* } IFS=$'\\n'
  COMPREPLY=($(dms complete "$line" 2>/dev/null | cut -f 1))
  COMPREPLY=("\${COMPREPLY[@]#"\${word%"\${word##*[=:]}"}"}")
}
complete -o default -F _dms dms
`,
  zsh: `#compdef dms
# Completion of dms for zsh, made by dms completion zsh.
_dms() {
  local -a found=("\${(@f)$(dms complete "\${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
  [[ -z $found ]] && { _files; return }
  found=("\${(@)\${(@)found//:/\\\\:}/$'\\t'/:}")
  _describe -t words word found
}
compdef _dms dms
# As a file in $fpath, it is the function.
[[ $funcstack[1] == _dms ]] && _dms "$@"
`,
  fish: `# Completion of dms for fish, made by dms completion fish.
function __dms_complete
    set -l found (dms complete (commandline -cp) 2>/dev/null)
    test -n "$found"; and printf '%s\\n' $found; or __fish_complete_path (commandline -ct)
end
complete -c dms -f -a '(__dms_complete)'
`,
};

export async function runCompletion(context: CommandContext, shell: keyof typeof SCRIPTS): Promise<void> {
  await writeText(context.stdout, SCRIPTS[shell]);
}

/** Prints words that may complete the last one of a command line, each with its meaning after a tab. */
export async function runComplete(context: CommandContext, line: string, _options: object, command: Command) {
  const [, ...words] = line.trimStart().split(/\s+/);
  const found = command.parent === null ? [] : wordsFor(command.parent, words);
  const matching = found.filter((word) => word.startsWith(words.at(-1) ?? ''));
  await writeText(context.stdout, matching.map((word) => `${word}\n`).join(''));
}

/** @param words After the program's name, the last one up to the cursor. */
function wordsFor(program: Command, words: readonly string[]): readonly string[] {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const command = before.reduce(
    (parent, word) => parent.commands.find((child) => child.name() === word) ?? parent,
    program,
  );
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  const [, assigned, value = current] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  const flag = assigned ?? before.at(-1) ?? '';
  const option = options.find(({ short, long, required }) => required && [short, long].includes(flag));
  if (option !== undefined) {
    const begun = current.slice(0, current.length - value.length);
    const types = TYPE_NAMES.map((type) => value.replace(/[^,]*$/, type));
    const values = option.flags.includes('<type,...>') ? types : (option.argChoices ?? []);
    return values.map((word) => begun + word);
  }
  if (current.startsWith('-')) {
    return options.flatMap(({ short, long, description }) =>
      [short, long].flatMap((name) => (name == null ? [] : `${name}\t${description}`)),
    );
  }
  const commands = help.visibleCommands(command);
  const choices = command.registeredArguments[0]?.argChoices ?? [];
  return [...commands.map((child) => `${child.name()}\t${help.subcommandDescription(child)}`), ...choices];
}
