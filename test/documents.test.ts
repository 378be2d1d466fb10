import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../src/config/env.js';
import { RDATA_FIELDS } from '../src/model/rdata-types.js';
import { ROUTES } from '../src/rest/v1/routes.js';
import { runDms } from './journeys/dms-command.js';
import { settingNames } from './support/setting-names.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const PAGES = new Map(
  ['', 'docs', 'docs/decisions']
    .flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(folder, name)))
    .filter((path) => path.endsWith('.md'))
    .map((path) => [path, readFileSync(join(ROOT, path), 'utf8')] as const),
);

function page(path: string): string {
  return PAGES.get(path) ?? expect.fail(`${path} is missing`);
}

/** The cells of a row of a table; `\|` is no border. */
function cells(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The rows of a page's tables whose first cell begins with code, and what that code is. */
function codeRows(path: string): { readonly code: string; readonly cells: readonly string[] }[] {
  return [...page(path).matchAll(/^\| `([^`]+)`.*\|$/gm)].map(([line, code = '']) => ({
    code,
    cells: cells(line),
  }));
}

/** What GitHub makes of a heading, to link to it. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

describe('the links between documents', () => {
  test.each([...PAGES.keys()])('the links of %s lead to files and headings that exist', (path) => {
    const broken = [...page(path).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].filter(
      ([, target = '', fragment]) => {
        const file = target === '' ? path : relative(ROOT, join(ROOT, dirname(path), target));
        if (fragment === undefined) return !existsSync(join(ROOT, file));
        const headings = [...(PAGES.get(file) ?? '').matchAll(/^#+ (.+)$/gm)];
        return !headings.some(([, heading = '']) => anchor(heading) === fragment);
      },
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  test.each([...PAGES.keys()])('every file that %s names exists', (path) => {
    const named = [...page(path).matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|js))`/g)].map(
      ([, file = '']) => file,
    );
    const places = (file: string) => [join(ROOT, file), join(ROOT, 'src', file)];
    expect(
      named.filter((file) => !/^dist\//.test(file) && !places(file).some((place) => existsSync(place))),
    ).toEqual([]);
  });

  test('README.md links to every page of docs/', () => {
    const pages = [...PAGES.keys()].filter((path) => /^docs\/[^/]+$/.test(path));
    expect(pages.filter((path) => !page('README.md').includes(`](${path})`))).toEqual([]);
  });
});

describe('docs/settings.md', () => {
  const rows = codeRows('docs/settings.md');

  test('docs/settings.md has every setting, and no other', () => {
    // Those of other programs: OpenTelemetry, of which a row speaks as a whole, and PostgreSQL's driver.
    const own = [...settingNames()].filter((name) => !/^(OTEL_|PG)/.test(name));
    const documented = rows.map(({ code }) => code).filter((name) => name !== 'OTEL_…');
    expect(documented.sort()).toEqual(own.sort());
  });

  test.each(rows)('docs/settings.md tells the default of $code', ({ code, cells: [, fallback = ''] }) => {
    const [, value] = /^`(.+)`$/.exec(fallback) ?? [];
    if (value !== undefined) expect(readSettings({ [code]: value })).toEqual(readSettings({}));
  });
});

test('README.md and CONTRIBUTING.md name the versions of Node.js that package.json allows', () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(engines.node).toBe('^20.19.0 || ^22.12.0 || >=24.0.0');
  for (const path of ['README.md', 'CONTRIBUTING.md']) {
    expect(page(path)).toMatch(/Node\.js(?:\]\(\S+\))? 20\.19, 22\.12, or 24 and later/);
  }
});

test('README.md fits on a few screens: 7,200 bytes at most', () => {
  expect(Buffer.byteLength(page('README.md'))).toBeLessThanOrEqual(7_200);
});

test('README.md says how many sample domains there are', () => {
  const lines = readFileSync(join(ROOT, 'samples/observations.ndjson'), 'utf8').trim().split('\n');
  expect(new Set(lines.map((line) => JSON.parse(line).domain)).size).toBe(5);
  expect(page('README.md')).toMatch(/\bfive\ssample\sdomains\b/);
});

test('docs/rest.md has every operation, with its path, scope and maturity', () => {
  const rows = [...page('docs/rest.md').matchAll(/^\| [A-Z].*`\/(?:domain|search|changes).*\|$/gm)].map(
    ([line]) => cells(line),
  );
  expect(rows.map(([name, path, , scope, maturity]) => [name, path, scope, maturity]).sort()).toEqual(
    ROUTES.map(({ summary, path, scope, 'x-maturity': maturity }) => [
      summary,
      `\`${path}\``,
      scope === null ? 'none needed' : `\`${scope}\``,
      maturity,
    ]).sort(),
  );
});

test('docs/importing.md has the fields of every type that has fields of its own', () => {
  const rows = codeRows('docs/importing.md').flatMap(({ cells: [types = '', fields = ''] }) =>
    [...types.matchAll(/`([A-Z]+)`/g)].map(([, type = '']) => [
      type,
      fields.replace(/`/g, '').replace(' or', ''),
    ]),
  );
  expect(rows.sort()).toEqual(
    [...RDATA_FIELDS].map(([type, fields]) => [type, fields.map(({ name }) => name).join(' ')]).sort(),
  );
});

async function helpOf(...command: string[]): Promise<string> {
  return (await runDms([...command, '--help'], {})).stdout;
}

/** The names of the commands, or of the options, in a help text. */
function namesIn(help: string, name: RegExp): string[] {
  return [...help.matchAll(name)]
    .map(([, found = '']) => found)
    .filter((found) => !/^(--)?help$/.test(found));
}

describe('docs/commands.md', () => {
  test('docs/commands.md has every command, in the order of dms --help', async () => {
    const documented = codeRows('docs/commands.md').map(({ code }) => /^dms (\w+)/.exec(code)?.[1]);
    expect(documented).toEqual(namesIn(await helpOf(), /^ {2}(\w+)(?: [<[]\S+)* {2,}\S/gm));
  });

  test.each(['watch', 'notify', 'token'])('docs/commands.md has every command of dms %s', async (command) => {
    const names = namesIn(await helpOf(command), /^ {2}(\w+)(?: \S+)* {2,}\S/gm);
    expect(page('docs/commands.md')).toMatch(new RegExp(`\`dms ${command} ${[...names].join('\\\\\\|')}\``));
  });
});

test('docs/importing.md has every option of dms import', async () => {
  const documented = codeRows('docs/importing.md').flatMap(({ code }) => /^--\w+/.exec(code) ?? []);
  const [own = ''] = (await helpOf('import')).split('Global Options:');
  expect(documented.sort()).toEqual(namesIn(own, /^ {2}(?:-\w, )?(--\w+)/gm).sort());
});

test('docs/operating.md has every metric of the service', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'));
  const names = sources.flatMap((source) => namesIn(source, /\bname: '(dms_\w+)'/g));
  const documented = codeRows('docs/operating.md').flatMap(
    ({ cells: [first = ''] }) => first.match(/dms_\w+/g) ?? [],
  );
  expect(documented.sort()).toEqual(names.sort());
});
