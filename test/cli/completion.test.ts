import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { IMPORT_FORMATS } from '../../src/importers/import-format.js';
import { PROGRAM, runDms } from '../journeys/dms-command.js';
import { prepareFolder } from '../support/temporary-folder.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Has a file, `dms`, and the script of each shell. */
const { folder, write } = prepareFolder();
write('lines one.ndjson', '');
chmodSync(write('dms', `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`), 0o755);

const scriptOf = (shell: string) => join(folder, `${shell}.script`);

beforeAll(async () => {
  for (const shell of SHELLS) {
    const { code, stdout, stderr } = await runDms(['completion', shell], { DATA_DIR: join(folder, 'never') });
    expect([code, stderr]).toEqual([0, '']);
    write(`${shell}.script`, stdout);
  }
});

/** Runs a shell in the folder. */
function output(command: string, ...args: readonly string[]): string {
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
  const options = { cwd: folder, env, encoding: 'utf8', timeout: 30_000 } as const;
  const { stdout, stderr } = spawnSync(command, args, options);
  expect(stderr).toBe('');
  return stdout;
}

/** As readline does it: it takes `=` and `:` for words of their own, and completes files where the script has nothing. */
function completedByBash(line: string): string[] {
  const script = `source "$0"; COMP_LINE=$1; COMP_POINT=\${#1}; _dms
if ((\${#COMPREPLY[@]})); then printf "%s\\n" "\${COMPREPLY[@]}"; else compgen -f -- "\${1##* }"; fi`;
  return output('bash', '-c', script, scriptOf('bash'), line).split('\n');
}

/** What an interactive zsh lists when Tab is pressed. */
function completedByZsh(line: string): string[] {
  const script = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2=; autoload -Uz compinit; compinit -D; source \${(q)1}; stty -echo; LISTMAX=0; COLUMNS=200"
zpty -w shell "bindkey '^I' list-choices; zstyle ':completion:*' list-separator '|'; print RE''ADY"
zpty -r -m shell listed '*READY*'
zpty -n -w shell "$2"$'\\t'
# With more input waiting, zsh would list nothing.
zpty -r -m shell begun "*\${(b)2}*"$'\\e\\\\[J*'
zpty -n -w shell $'\\C-u'"print DO''NE"$'\\n'
zpty -r -m shell rest '*DONE*'
print -r -- $begun$rest
zpty -d shell`;
  const listed = output('zsh', '-f', '-c', script, 'zsh', scriptOf('zsh'), line);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor of a terminal
  const [, list = ''] = listed.replace(/\u001b\[\?2004[hl]/g, '').split(/\n\u001b\[J/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the same
  const lines = list.replace(/\u001b\[\d*A.*$/s, '').replace(/\u001b\[K/g, '');
  return lines
    .split('\r\n')
    .flatMap((each) => (each.includes('|') ? [each.replace(/ *\|.*/, '')] : each.split(/ {2,}/)));
}

function completedByFish(line: string): string[] {
  const script = 'source $argv[1]; complete -C $argv[2]';
  return output('fish', '-N', '-c', script, scriptOf('fish'), line)
    .split('\n')
    .map((each) => each.replace(/\t.*/, ''));
}

const COMPLETED = { bash: completedByBash, zsh: completedByZsh, fish: completedByFish };
const FORMATS = ['auto', ...IMPORT_FORMATS];

describe.each(SHELLS)('completion by the script for %s', (shell) => {
  const isMissing = spawnSync(shell, ['-c', 'exit']).status !== 0;

  test.skipIf(isMissing).each([
    ['commands', 'dms se', ['serve', 'search']],
    ['subcommands', 'dms watch ', ['add', 'remove', 'list', 'help']],
    ['options', 'dms import --re', ['--rejects']],
    ['the choices of an option', 'dms import --format ', FORMATS],
    ['the choices of an option after =', 'dms import --format=ht', ['httpx']],
    ['the types of records', 'dms search --types DNSK', ['DNSKEY']],
    ['further types after a comma', 'dms export --types A,DNSK', ['DNSKEY']],
    ['what has a colon', 'dms token create --scope dns:r', ['dns:read']],
    ['files where files are arguments', 'dms import lin', ['lines one.ndjson']],
    ['files where an option has one', 'dms watch add --from-file lin', ['lines one.ndjson']],
    ['the choices of an argument', 'dms completion ', ['bash', 'zsh', 'fish']],
    ['after an option of the program', 'dms -q ver', ['verify']],
  ])('Tab completes %s: %s', (_what, line, expected) => {
    const found = COMPLETED[shell](line)
      .filter((word) => word !== '')
      // Shells differ in what they show of the word before a comma, = or colon.
      .map((word) =>
        word
          .replaceAll('\\ ', ' ')
          .replace(/^A,|^--format=/, '')
          .replace(/^read$/, 'dns:read'),
      );
    expect(found.sort()).toEqual([...expected].sort());
  });
});
