import type { Command, Option } from 'commander';
import { TYPE_NAMES } from '../../model/dns-types.js';
import type { CommandContext } from '../command-context.js';
import { writeText } from '../output.js';

/** The script has all words in it: it starts no process when a key is pressed. */
export async function runCompletion(
  context: CommandContext,
  shell: 'bash' | 'zsh' | 'fish',
  _options: object,
  { parent: program }: Command,
): Promise<void> {
  const rows = program === null ? [] : rowsOf(program, '');
  await writeText(context.stdout, { bash, zsh, fish }[shell](rows));
}

/** A subcommand, an argument or an option, with the words that can be written for it. */
interface Row {
  /** The command: its words, each after a slash. */
  readonly at: string;
  /** The forms of an option; empty for what is none. */
  readonly flags: readonly string[];
  /** `list`: words between commas. */
  readonly takes: 'command' | 'nothing' | 'text' | 'file' | 'word' | 'list';
  readonly words: readonly string[];
  readonly meaning: string;
}

function rowsOf(command: Command, at: string): Row[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const hasFiles = command.registeredArguments.some((argument) => argument.name() === 'file');
  const argument = { flags: [], words: [], meaning: '' };
  return [
    ...(choices.length > 0 ? [{ ...argument, at, takes: 'word', words: choices } as const] : []),
    ...(hasFiles ? [{ ...argument, at, takes: 'file' } as const] : []),
    ...options.map((option) => optionRow(option, at)),
    ...commands.flatMap((each): Row[] => {
      const below = `${at}/${each.name()}`;
      const meaning = each.summary() || each.description();
      const row = { at, flags: [], takes: 'command', words: [each.name()], meaning } as const;
      if (command.commands.includes(each)) return [row, ...rowsOf(each, below)];
      // Commander makes its command `help` without what it is about.
      const words = commands.map((other) => other.name());
      return [row, { ...argument, at: below, takes: 'word', words }];
    }),
  ];
}

function optionRow({ short, long, flags, description, argChoices, required }: Option, at: string): Row {
  const names = [short, long].filter((name) => name !== undefined);
  const option = { at, flags: names, meaning: description };
  if (flags.includes('<type,...>')) return { ...option, takes: 'list', words: TYPE_NAMES };
  if (argChoices !== undefined) return { ...option, takes: 'word', words: argChoices };
  const takes = flags.includes('<file>') ? 'file' : required ? 'text' : 'nothing';
  return { ...option, takes, words: [] };
}

/** A variable of bash and zsh: a line for each row, its fields between bars. */
function table(rows: readonly Row[]): string {
  const lines = rows.map(({ at, flags, takes, words, meaning }) =>
    [at, flags.join(' '), takes, words.join(' '), meaning.replaceAll('|', '/')].join('|'),
  );
  return `local table='${lines.join('\n').replaceAll("'", "'\\''")}'`;
}

function bash(rows: readonly Row[]): string {
  return `# Completion of dms for bash, made by dms completion bash.
_dms() {
  ${table(rows)}
  local word current previous at='' asked='' found='' options='' values='' files='' before='' i last
  local place flags takes words meaning
  local -a typed=()
  # Bash takes = and : for words of their own (COMP_WORDBREAKS).
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((i > 1)) && [[ $word == [=:]* || \${COMP_WORDS[i - 1]} == [=:] ]]; then
      last=$((\${#typed[@]} - 1))
      typed[last]=\${typed[last]}$word
    else
      typed+=("$word")
    fi
  done
  last=$((\${#typed[@]} - 1))
  current=\${typed[last]}
  previous=\${typed[last - 1]}
  for word in "\${typed[@]:1:last-1}"; do
    [[ $table == *$'\\n'"$at||command|$word|"* ]] && at=$at/$word
  done
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    current=\${current#*=}
  fi
  while IFS='|' read -r place flags takes words meaning; do
    [[ $place == "$at" ]] || continue
    if [[ -n $flags ]]; then options+=" $flags"; else found+=$words' '; fi
    [[ -z $flags && $takes == file ]] && files=1
    [[ $takes != nothing && " $flags " == *" $previous "* ]] && asked=$takes values=$words
  done <<< "$table"
  if [[ -n $asked ]]; then
    found=$values files=''
    [[ $asked == file ]] && files=1
  elif [[ $current == -* || -z $files\${found// } ]]; then
    found=$options files=''
  fi
  if [[ $asked == list && $current == *,* ]]; then
    before=\${current%,*},
    current=\${current##*,}
  fi
  COMPREPLY=()
  while IFS='' read -r word; do
    # What is before the last colon is in the line already.
    [[ $COMP_WORDBREAKS == *:* ]] && word=\${word#"\${current%"\${current##*:}"}"}
    COMPREPLY+=("$word")
  done < <(compgen -P "$before" -W "$found" -- "$current")
  if [[ -n $files ]]; then
    while IFS='' read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _dms dms
`;
}

function zsh(rows: readonly Row[]): string {
  return `#compdef dms
# Completion of dms for zsh, made by dms completion zsh.
_dms() {
  ${table(rows)}
  local word at='' asked='' files='' current=$words[CURRENT] previous=$words[CURRENT-1]
  local place flags takes choices meaning
  local -a found options values
  for word in $words[2,CURRENT-1]; do
    [[ $table == *$'\\n'"$at||command|$word|"* ]] && at=$at/$word
  done
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    compset -P '*='
  fi
  while IFS='|' read -r place flags takes choices meaning; do
    [[ $place == "$at" ]] || continue
    [[ -z $flags && $takes == file ]] && files=1
    for word in \${=flags}; do options+=("$word:$meaning"); done
    [[ -z $flags ]] && for word in \${=choices}; do found+=("$word\${meaning:+:$meaning}"); done
    [[ $takes != nothing && " $flags " == *" $previous "* ]] && asked=$takes values=(\${=choices//:/\\\\:})
  done <<< "$table"
  if [[ -n $asked ]]; then
    found=($values) files=''
    [[ $asked == file ]] && files=1
  elif [[ $current == -* || ( $#found -eq 0 && -z $files ) ]]; then
    found=($options) files=''
  fi
  [[ $asked == list ]] && compset -P '*,'
  (( $#found )) && _describe -t words word found
  [[ -n $files ]] && _files
}
compdef _dms dms
# As a file in $fpath, it is the function.
[[ $funcstack[1] == _dms ]] && _dms "$@"
`;
}

function fish(rows: readonly Row[]): string {
  const quoted = (text: string) => `'${text.replace(/['\\]/g, '\\$&')}'`;
  const lines = rows.map(({ at, flags, takes, words, meaning }) => {
    const names = flags.map((flag) => flag.replace(/^--/, ' -l ').replace(/^-(?=\w$)/, ' -s ')).join('');
    const choices = takes === 'list' ? `(__fish_append , ${words.join(' ')})` : words.join(' ');
    const takesFree = takes === 'text' || (flags.length > 0 && words.length > 0) ? ' -x' : '';
    const value = takes === 'file' ? ' -r -F' : takesFree + (choices === '' ? '' : ` -a ${quoted(choices)}`);
    return `complete -c dms -n ${quoted(`__dms_at '${at}'`)}${names}${value} -d ${quoted(meaning)}`;
  });
  const commands = rows.flatMap(({ at, takes, words }) => (takes === 'command' ? `${at}/${words}` : []));
  return `# Completion of dms for fish, made by dms completion fish.
function __dms_at
    set -l at ''
    for word in (commandline -opc)
        switch $at/$word
            case ${commands.join(' ')}
                set at $at/$word
        end
    end
    test "$at" = "$argv[1]"
end
complete -c dms -f
${lines.join('\n')}
`;
}
