import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInputObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { readSettings } from '../src/config/env.js';
import { createSchema } from '../src/graphql/schema.js';
import { IMPORT_FORMATS } from '../src/importers/import-format.js';
import { RDATA_FIELDS } from '../src/model/rdata-types.js';
import { ROUTES } from '../src/rest/v1/routes.js';
import { runDms } from './journeys/dms-command.js';
import { settingNames } from './support/setting-names.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const PAGES = new Map(
  ['', 'docs', 'docs/decisions']
    .flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(folder, name)))
    .filter((path) => path.endsWith('.md'))
    .map((path) => [path, read(path)] as const),
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
  const letters = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '');
  return letters.replaceAll(' ', '-');
}

test.each([...PAGES.keys()])('the links of %s lead to files and headings that exist', (path) => {
  const links = [...page(path).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
  const broken = links.filter(([, target = '', fragment]) => {
    const file = target === '' ? path : join(dirname(path), target);
    if (fragment === undefined) return !existsSync(join(ROOT, file));
    const headings = [...(PAGES.get(file) ?? '').matchAll(/^#+ (.+)$/gm)];
    return !headings.some(([, heading = '']) => anchor(heading) === fragment);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

test.each([...PAGES.keys()])('every file that %s names exists', (path) => {
  const named = page(path).matchAll(/`(?!dist\/)((?:[\w.-]+\/)+[\w.-]+\.(?:ts|js))`/g);
  const exists = (file: string) => ['', 'src'].some((folder) => existsSync(join(ROOT, folder, file)));
  expect(Array.from(named, ([, file = '']) => file).filter((file) => !exists(file))).toEqual([]);
});

test('README.md links to every page of docs/', () => {
  const pages = [...PAGES.keys()].filter((path) => /^docs\/[^/]+$/.test(path));
  expect(pages.filter((path) => !page('README.md').includes(`](${path})`))).toEqual([]);
});

const SETTINGS = codeRows('docs/settings.md');

test('docs/settings.md has every setting, and no other', () => {
  // Those of other programs: OpenTelemetry, of which a row speaks as a whole, and PostgreSQL's driver.
  const own = [...settingNames()].filter((name) => !/^(OTEL_|PG)/.test(name));
  const documented = SETTINGS.map(({ code }) => code).filter((name) => name !== 'OTEL_…');
  expect(documented.sort()).toEqual(own.sort());
});

test.each(SETTINGS)('docs/settings.md tells the default of $code', ({ code, cells: [, fallback = ''] }) => {
  const [, value] = /^`(.+)`$/.exec(fallback) ?? [];
  if (value !== undefined) expect(readSettings({ [code]: value })).toEqual(readSettings({}));
});

test('README.md and CONTRIBUTING.md name the versions of Node.js that package.json allows', () => {
  const { engines } = JSON.parse(read('package.json'));
  expect(engines.node).toBe('^20.19.0 || ^22.12.0 || >=24.0.0');
  for (const path of ['README.md', 'CONTRIBUTING.md']) {
    expect(page(path)).toMatch(/Node\.js(?:\]\(\S+\))? 20\.19, 22\.12, or 24 and later/);
  }
});

test('README.md fits on a few screens: 7,200 bytes at most', () => {
  expect(Buffer.byteLength(page('README.md'))).toBeLessThanOrEqual(7_200);
});

test('README.md says how many sample domains there are', () => {
  const lines = read('samples/observations.ndjson').trim().split('\n');
  expect(new Set(lines.map((line) => JSON.parse(line).domain)).size).toBe(5);
  expect(page('README.md')).toMatch(/\bfive\ssample\sdomains\b/);
});

test('docs/rest.md has every operation, with its path, scope and maturity', () => {
  const rows = page('docs/rest.md').matchAll(/^\| [A-Z].*`\/(?:domain|search|changes).*\|$/gm);
  const documented = Array.from(rows, ([line]) => {
    const [name, path, , scope, maturity] = cells(line);
    return [name, path, scope, maturity];
  });
  const routes = ROUTES.map(({ summary, path, scope, 'x-maturity': maturity }) => {
    const needed = scope === null ? 'none needed' : `\`${scope}\``;
    return [summary, `\`${path}\``, needed, maturity];
  });
  expect(documented.sort()).toEqual(routes.sort());
});

test('docs/importing.md has the fields of every type that has fields of its own', () => {
  const rows = codeRows('docs/importing.md').flatMap(({ cells: [types = '', fields = ''] }) => {
    const names = fields.replace(/`/g, '').replace(' or', '');
    return firstGroups(types, /`([A-Z]+)`/g).map((type) => [type, names]);
  });
  const known = [...RDATA_FIELDS].map(([type, fields]) => [type, fields.map(({ name }) => name).join(' ')]);
  expect(rows.sort()).toEqual(known.sort());
});

test.each([
  ['/search/dns-records', 'DnsRecordFilter'],
  ['/search/http-headers', 'HttpHeaderFilter'],
  ['/search/domains', 'DomainFilter'],
])('REST, with docs/rest.md, and dms search have every condition of GraphQL: %s, %s', async (path, input) => {
  const type = createSchema().getType(input);
  const conditions = isInputObjectType(type) ? Object.keys(type.getFields()) : [];
  expect(conditions).not.toEqual([]);
  const parameters = ROUTES.find((route) => route.path === path)?.parameters.map(({ name }) => name);
  expect(parameters).toEqual(expect.arrayContaining(conditions));
  const documented = firstGroups(page('docs/rest.md'), /`(\w+)`/g);
  expect(documented).toEqual(expect.arrayContaining(conditions));
  const options = (await namesInHelp(/ --([a-z-]+)/g, 'search')).map((option) =>
    option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
  );
  // A field name and its value are one option.
  const ofHeader = new Map([
    ['name', 'header'],
    ['value', 'header'],
  ]);
  const named = conditions.map((condition) => ofHeader.get(condition) ?? condition);
  expect(options).toEqual(expect.arrayContaining(named));
});

/** The names of the commands, or of the options, in the help of a command, without those of all commands. */
async function namesInHelp(name: RegExp, ...command: string[]): Promise<string[]> {
  const { stdout } = await runDms([...command, '--help'], {});
  const own = stdout.replace(/^Global Options:\n(?: .*\n)*/m, '');
  return firstGroups(own, name).filter((found) => !/^(--)?help$/.test(found));
}

function firstGroups(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), ([, found = '']) => found);
}

test('docs/commands.md has every command, in the order of dms --help', async () => {
  const documented = codeRows('docs/commands.md').map(({ code }) => /^dms (\w+)/.exec(code)?.[1]);
  expect(documented).toEqual(await namesInHelp(/^ {2}(\w+)(?: [<[]\S+)* {2,}\S/gm));
});

test.each(['watch', 'notify', 'token'])('docs/commands.md has every command of dms %s', async (command) => {
  const names = await namesInHelp(/^ {2}(\w+)(?: \S+)* {2,}\S/gm, command);
  expect(page('docs/commands.md')).toContain(`\`dms ${command} ${names.join('\\|')}\``);
});

test('docs/importing.md names every format that dms import reads', () => {
  expect(page('docs/importing.md')).toContain(`--format auto\\|${IMPORT_FORMATS.join('\\|')}\``);
});

test('docs/importing.md has every option of dms import', async () => {
  const documented = codeRows('docs/importing.md').flatMap(({ code }) => /^--\w+/.exec(code) ?? []);
  expect(documented.sort()).toEqual((await namesInHelp(/^ {2}(?:-\w, )?(--\w+)/gm, 'import')).sort());
});

test('docs/operating.md has every metric of the service', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => read(join('src', path)));
  const names = sources.flatMap((source) => firstGroups(source, /\bname: '(dms_\w+)'/g));
  const documented = codeRows('docs/operating.md').flatMap(
    ({ cells: [first = ''] }) => first.match(/dms_\w+/g) ?? [],
  );
  expect(documented.sort()).toEqual(names.sort());
});
