import type { Command, Option } from 'commander';
import { TYPE_NAMES } from '../../model/dns-types.js';
import type { CommandContext } from '../command-context.js';
import { writeText } from '../write-text.js';

/**
 * `dms completion SHELL`: prints the script that completes commands in a shell.
 *
 * The script has all words in it: it starts no process when a key is pressed.
 */
export async function runCompletion(
  context: CommandContext,
  shell: 'bash' | 'zsh' | 'fish',
  _options: object,
  { parent: program }: Command,
): Promise<void> {
  const places = program === null ? [] : placesOf(program, '');
  await writeText(context.stdout, { bash, zsh, fish }[shell](places));
}

type Word = readonly [word: string, meaning: string];

/** What can be written after a command. */
interface Place {
  /** The words of the command, each after a slash. */
  readonly at: string;
  /** Subcommands, or choices of an argument. */
  readonly words: readonly Word[];
  /** Whether its arguments are files. */
  readonly files: boolean;
  readonly options: readonly CompletedOption[];
}

interface CompletedOption {
  /** Its short and its long form. */
  readonly flags: readonly string[];
  readonly meaning: string;
  /** `list`: words between commas. */
  readonly takes: 'nothing' | 'text' | 'file' | 'word' | 'list';
  readonly words: readonly string[];
}

function placesOf(command: Command, at: string): Place[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].map(completed);
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const words = [
    ...commands.map((each): Word => [each.name(), each.summary() || each.description()]),
    ...choices.map((choice): Word => [choice, '']),
  ];
  const files = command.registeredArguments.some((argument) => argument.name() === 'file');
  return [
    { at, words, files, options },
    ...commands.flatMap((each) => {
      const below = `${at}/${each.name()}`;
      // Commander makes its command `help` without what it is about.
      const isHelp = !command.commands.includes(each);
      return isHelp ? [{ at: below, words, files: false, options: [] }] : placesOf(each, below);
    }),
  ];
}

function completed({ short, long, flags, description, argChoices, required }: Option): CompletedOption {
  const option = { flags: [short, long].filter((flag) => flag !== undefined), meaning: description };
  if (flags.includes('<type,...>')) return { ...option, takes: 'list', words: TYPE_NAMES };
  if (argChoices !== undefined) return { ...option, takes: 'word', words: argChoices };
  const takes = flags.includes('<file>') ? 'file' : required ? 'text' : 'nothing';
  return { ...option, takes, words: [] };
}

/** The commands, as a pattern of `case` in a shell. */
function commandsIn(places: readonly Place[], separator: string): string {
  return places
    .map(({ at }) => at)
    .filter((at) => at !== '')
    .join(separator);
}

/** The options with values, as patterns of `case` for an option after its command. */
function valuesIn(places: readonly Place[], line: (pattern: string, option: CompletedOption) => string) {
  return places.flatMap(({ at, options }) =>
    options
      .filter(({ takes }) => takes !== 'nothing')
      .map((option) => line(option.flags.map((flag) => `'${at} ${flag}'`).join('|'), option)),
  );
}

function bash(places: readonly Place[]): string {
  const listed = (words: readonly string[]) => `'${words.join(' ')}'`;
  const values = valuesIn(places, (pattern, { takes, words }) => {
    const found = words.length > 0 ? `found=${listed(words)}` : '';
    const action = takes === 'file' ? 'files=1' : takes === 'list' ? `${found} list=1` : found;
    return `    ${pattern}) ${action} ;;`;
  });
  const arguments_ = places.map(({ at, words, files, options }) => {
    const found = `found=${listed(words.map(([word]) => word))}`;
    const flags = `options=${listed(options.flatMap((option) => option.flags))}`;
    return `        '${at}') ${found} ${flags} files=${files ? 1 : ''} ;;`;
  });
  return `# Completion of dms for bash, made by dms completion bash.
_dms() {
  local word current previous at='' found='' options='' files='' list='' before='' i last
  local -a words=()
  # Bash takes = and : for words of their own (COMP_WORDBREAKS).
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((i > 1)) && [[ $word == [=:]* || \${COMP_WORDS[i - 1]} == [=:] ]]; then
      last=$((\${#words[@]} - 1))
      words[last]=\${words[last]}$word
    else
      words+=("$word")
    fi
  done
  last=$((\${#words[@]} - 1))
  current=\${words[last]}
  previous=\${words[last - 1]}
  for word in "\${words[@]:1:last-1}"; do
    case $at/$word in
    ${commandsIn(places, '|')}) at=$at/$word ;;
    esac
  done
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    current=\${current#*=}
  fi
  case "$at $previous" in
${values.join('\n')}
    *)
      case $at in
${arguments_.join('\n')}
      esac
      if [[ $current == -* || -z $found$files ]]; then
        found=$options
        files=''
      fi
      ;;
  esac
  if [[ -n $list && $current == *,* ]]; then
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

function zsh(places: readonly Place[]): string {
  const quoted = ([word, meaning]: Word) => {
    const text = `${word.replaceAll(':', '\\:')}${meaning === '' ? '' : `:${meaning}`}`;
    return `'${text.replaceAll("'", "'\\''")}'`;
  };
  const listed = (words: readonly Word[]) => `(${words.map(quoted).join(' ')})`;
  const values = valuesIn(places, (pattern, { takes, words }) => {
    const found = words.length > 0 ? `found=${listed(words.map((word) => [word, '']))}` : '';
    const begin = takes === 'file' ? 'files=1' : takes === 'list' ? "compset -P '*,'; " : '';
    return `    (${pattern}) ${begin}${found} ;;`;
  });
  const arguments_ = places.map(({ at, words, files, options }) => {
    const flags = options.flatMap(({ flags, meaning }) => flags.map((flag): Word => [flag, meaning]));
    return `        ('${at}') found=${listed(words)} options=${listed(flags)} files=${files ? 1 : ''} ;;`;
  });
  return `#compdef dms
# Completion of dms for zsh, made by dms completion zsh.
_dms() {
  local word at='' files='' current=$words[CURRENT] previous=$words[CURRENT-1]
  local -a found options
  for word in $words[2,CURRENT-1]; do
    case $at/$word in
    (${commandsIn(places, '|')}) at=$at/$word ;;
    esac
  done
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    compset -P '*='
  fi
  case "$at $previous" in
${values.join('\n')}
    (*)
      case $at in
${arguments_.join('\n')}
      esac
      if [[ $current == -* || ( $#found -eq 0 && -z $files ) ]]; then
        found=($options)
        files=''
      fi
      ;;
  esac
  (( $#found )) && _describe -t words word found
  [[ -n $files ]] && _files
}
compdef _dms dms
# As a file in $fpath, it is the function.
[[ $funcstack[1] == _dms ]] && _dms "$@"
`;
}

function fish(places: readonly Place[]): string {
  const quoted = (text: string) => `'${text.replace(/['\\]/g, '\\$&')}'`;
  const lines = places.flatMap(({ at, words, files, options }) => {
    const begin = `complete -c dms -n ${quoted(`__dms_at '${at}'`)}`;
    return [
      ...(files ? [`${begin} -F`] : []),
      ...words.map(([word, meaning]) => `${begin} -a ${quoted(word)} -d ${quoted(meaning)}`),
      ...options.map(({ flags, meaning, takes, words }) => {
        const names = flags.map((flag) => flag.replace(/^--/, '-l ').replace(/^-(?=\w$)/, '-s '));
        const value = {
          ...{ nothing: '', text: ' -x', file: ' -r -F' },
          word: ` -x -a ${quoted(words.join(' '))}`,
          list: ` -x -a ${quoted(`(__fish_append , ${words.join(' ')})`)}`,
        }[takes];
        return `${begin} ${names.join(' ')}${value} -d ${quoted(meaning)}`;
      }),
    ];
  });
  return `# Completion of dms for fish, made by dms completion fish.
function __dms_at
    set -l at ''
    for word in (commandline -opc)
        switch $at/$word
            case ${commandsIn(places, ' ')}
                set at $at/$word
        end
    end
    test "$at" = "$argv[1]"
end
complete -c dms -f
${lines.join('\n')}
`;
}
