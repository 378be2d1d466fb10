import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SOURCE = fileURLToPath(new URL('../src', import.meta.url));

/** Each folder of src/ (or file in it), and what it may import besides itself: docs/architecture.md. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  model: '',
  history: 'model',
  telemetry: 'model',
  database: 'model',
  cluster: 'telemetry',
  // A viewer has what is left of its budget; what is charged is a viewer.
  auth: 'database limits model',
  limits: 'auth telemetry model',
  recorder: 'database history model',
  observer: 'recorder history database telemetry model',
  importers: 'recorder history database model',
  exporters: 'recorder history model',
  loaders: 'database history model',
  feed: 'loaders limits history database model',
  resolvers: 'feed loaders limits auth model',
  graphql: 'resolvers feed loaders limits auth database model',
  // Receivers have the guard of addresses that sites have.
  notify: 'observer database telemetry model',
  rest: 'graphql notify limits auth model',
  http: 'rest graphql limits auth telemetry model',
  config: 'auth model',
  observing: 'asking monitoring config notify observer recorder database telemetry model',
  monitoring: 'cluster config http recorder database telemetry model',
  serving: 'monitoring cluster http rest graphql feed loaders limits auth config database telemetry model',
  application:
    'serving observing monitoring cluster observer http importers recorder config database telemetry model',
  asking: 'rest graphql feed limits loaders auth database model',
  cli: 'application cluster asking observing monitoring http auth config notify observer limits importers exporters recorder history database telemetry model',
  main: 'cli application config telemetry model',
};

/** What the pure layers may use of Node.js: nothing that reads, writes, or tells the time. */
const PURE_MODULES = ['node:buffer', 'node:crypto', 'node:url', 'ipaddr.js', 'lru-cache', 'tldts'];

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .map((path) => path.split(sep).join('/'))
  .filter((path) => path.endsWith('.ts') && !path.startsWith('database/generated/'))
  .map((path) => {
    const text = readFileSync(join(SOURCE, path), 'utf8');
    const targets = Array.from(
      text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g),
      ([, target = '']) => target,
    );
    const resolve = (target: string) => posix.join(posix.dirname(path), target).replace(/\.js$/, '.ts');
    return {
      path,
      layer: layerOf(path),
      text,
      imports: targets.filter((target) => target.startsWith('.')).map(resolve),
      packages: targets.filter((target) => !target.startsWith('.')),
    };
  });

function layerOf(path: string): string {
  return path.split('/')[0]?.replace(/\.ts$/, '') ?? '';
}

/** The files, of some layers or of all, whose text has the pattern. */
function filesWith(pattern: RegExp, layers = Object.keys(MAY_IMPORT)): string[] {
  return files
    .filter(({ text, layer }) => layers.includes(layer) && pattern.test(text))
    .map(({ path }) => path);
}

test('no text names npx: outside of the checkout it would run another package', () => {
  expect(filesWith(/\bnpx\b/)).toEqual([]);
});

test.each(files.map((file) => [file.path, file] as const))(
  '%s imports downward only, as docs/architecture.md says',
  (_path, { layer, imports }) => {
    const allowed = [layer, ...(MAY_IMPORT[layer]?.split(' ') ?? [])];
    expect(imports.filter((path) => !allowed.includes(layerOf(path)))).toEqual([]);
  },
);

test('every folder of src/ has its place among the layers of docs/architecture.md', () => {
  expect(files.map(({ layer }) => layer).filter((layer) => !(layer in MAY_IMPORT))).toEqual([]);
});

test('no two files import each other in a circle', () => {
  const graph = new Map(files.map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    expect(trail, 'a circle of imports').not.toContain(path);
    if (done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
});

test('model and history do no I/O, read no clock and do not know Prisma', () => {
  const pure = files.filter(({ layer }) => ['model', 'history'].includes(layer));
  expect(pure.flatMap(({ packages }) => packages).filter((name) => !PURE_MODULES.includes(name))).toEqual([]);
  const impure = /Date\.now\(|new Date\(\)|performance\.now|process\./;
  expect(filesWith(impure, ['model', 'history'])).toEqual([]);
});

test('no list becomes the arguments of a call where observations come in: V8 throws beyond some 100,000', () => {
  const spread = /\b(?:push|unshift|splice|max|min|fromCharCode|fromCodePoint)\([^;]*?\.\.\./;
  const found = filesWith(spread, ['model', 'importers', 'history', 'recorder', 'observer']);
  const ofNetwork = (path: string) => /^observer\/.+\//.test(path);
  expect(found.filter((path) => !ofNetwork(path))).toEqual([]);
});

test('only config/env.ts reads the environment, and what the first process tells the others', () => {
  expect(filesWith(/process\.env/)).toEqual(['cluster/member.ts', 'config/env.ts']);
});

test('data is read by loaders and written by the recorder: resolvers, routes and presenters hold no SQL', () => {
  const sql = /\$queryRaw|\bSELECT\b|\bpool\.query/;
  expect(filesWith(sql, ['resolvers', 'graphql', 'rest', 'http'])).toEqual([]);
});

test('no statement is sent as text without its parameters beside it', () => {
  expect(filesWith(/RawUnsafe\b/)).toEqual([]);
});

test('SQL stands in the files that decision 10 lists with their reasons, and in no other', () => {
  const record = new URL('../docs/decisions/0010-prisma-and-sql.md', import.meta.url);
  const rows = readFileSync(record, 'utf8').matchAll(/^\| (`src\/[^|]*) \|/gm);
  const listed = [...rows].flatMap(([, cell = '']) => cell.match(/(?<=`src\/)[^`]+/g) ?? []).sort();
  const sql = /\$(?:queryRaw|executeRaw)|\bPrisma\.(?:sql|raw)\b|(?<!\b(?:dns|compiled))\.query[<(]/;
  const found = filesWith(sql).map((path) => path.replace(/^database\/.*/, 'database/'));
  expect([...new Set(found)].sort()).toEqual(listed);
});
