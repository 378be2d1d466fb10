import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runDms } from '../journeys/dms-command.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

let folder: string;

/** The path of a file with the script of a shell. */
const scriptOf = (shell: string) => join(folder, `${shell}.script`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dms-test-completion-'));
  await writeFile(join(folder, 'lines one.ndjson'), '');
  for (const shell of SHELLS) {
    const { code, stdout, stderr } = await runDms(['completion', shell], { DATA_DIR: join(folder, 'never') });
    expect([code, stderr]).toEqual([0, '']);
    await writeFile(scriptOf(shell), stdout);
  }
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a shell in the folder. */
function output(command: string, ...args: readonly string[]): string {
  const { stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', timeout: 30_000 });
  expect(stderr).toBe('');
  return stdout;
}

/** As readline does it: it takes `=` and `:` for words of their own. */
function completedByBash(line: string): string[] {
  const words = line.split(/ |(?<=[=:])|(?=[=:])/);
  const script = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dms; printf "%s\\n" "\${COMPREPLY[@]}"`;
  return output('bash', '-c', script, scriptOf('bash'), ...words).split('\n');
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
  const lines = output(
    'fish',
    '-N',
    '-c',
    'source $argv[1]; complete -C $argv[2]',
    scriptOf('fish'),
    line,
  ).split('\n');
  // With a name=value, fish lists both.
  return lines.map((each) => each.replace(/\t.*/, '').replace(/^--\w+=/, ''));
}

const COMPLETED = { bash: completedByBash, zsh: completedByZsh, fish: completedByFish };

describe.each(SHELLS)('with the script for it, %s', (shell) => {
  const isMissing = spawnSync(shell, ['-c', 'exit']).status !== 0;

  test.skipIf(isMissing).each([
    ['commands', 'dms se', ['serve', 'search']],
    ['subcommands', 'dms watch ', ['add', 'remove', 'list', 'help']],
    ['options', 'dms import --re', ['--rejects']],
    [
      'the choices of an option',
      'dms import --format ',
      ['auto', 'dms', 'httpx', 'dnsx', 'zdns', 'massdns', 'cof'],
    ],
    ['the choices of an option after =', 'dms import --format=ht', ['httpx']],
    ['the types of records', 'dms search --types DNSK', ['DNSKEY']],
    ['further types after a comma', 'dms export --types A,DNSK', ['DNSKEY']],
    ['files where files are arguments', 'dms import lin', ['lines one.ndjson']],
    ['files where an option has one', 'dms watch add --from-file lin', ['lines one.ndjson']],
    ['the choices of an argument', 'dms completion ', ['bash', 'zsh', 'fish']],
    ['after an option of the program', 'dms -q ver', ['verify']],
  ])('completes %s: %s', (_what, line, expected) => {
    const found = COMPLETED[shell](line)
      .filter((word) => word !== '')
      // Zsh does not list what is before the comma.
      .map((word) => word.replaceAll('\\ ', ' ').replace(/^A,/, ''));
    expect(found.sort()).toEqual([...expected].sort());
  });
});

test('bash completes what follows a colon', () => {
  expect(completedByBash('dms token create --scope dns:r')).toContain('read');
});

test('the scripts have every command and option of the program', async () => {
  const help = (await runDms(['--help'], {})).stdout;
  const commands = [...help.matchAll(/^ {2}(\w+)(?: \[\w+\]| <\S+>| \[\S+\])* {2,}\S/gm)].map(
    ([, name]) => name,
  );
  for (const shell of SHELLS) {
    const { stdout } = await runDms(['completion', shell], {});
    for (const name of commands) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`));
  }
});
