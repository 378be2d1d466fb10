import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SOURCE = fileURLToPath(new URL('../src', import.meta.url));

/** Each folder of src/ (or file in it), and what it may import besides itself: docs/architecture.md. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  history: ['model'],
  telemetry: ['model'],
  database: ['model'],
  cluster: ['telemetry'],
  // A viewer has what is left of its budget; what is charged is a viewer.
  auth: ['database', 'limits', 'model'],
  limits: ['auth', 'telemetry', 'model'],
  recorder: ['database', 'history', 'model'],
  observer: ['recorder', 'history', 'database', 'telemetry', 'model'],
  importers: ['recorder', 'history', 'database', 'model'],
  exporters: ['recorder', 'history', 'model'],
  loaders: ['database', 'history', 'model'],
  feed: ['loaders', 'limits', 'history', 'database', 'model'],
  resolvers: ['feed', 'loaders', 'limits', 'auth', 'model'],
  graphql: ['resolvers', 'feed', 'loaders', 'limits', 'auth', 'database', 'model'],
  // Receivers have the guard of addresses that sites have.
  notify: ['observer', 'database', 'telemetry', 'model'],
  rest: ['graphql', 'notify', 'limits', 'auth', 'model'],
  http: ['rest', 'graphql', 'limits', 'auth', 'telemetry', 'model'],
  config: ['auth', 'model'],
  observing: [
    ...['asking', 'monitoring', 'config', 'notify', 'observer', 'recorder', 'database', 'telemetry', 'model'],
  ],
  monitoring: ['cluster', 'config', 'http', 'recorder', 'database', 'telemetry', 'model'],
  serving: [
    ...['monitoring', 'cluster', 'http', 'rest', 'graphql', 'feed', 'loaders', 'limits', 'auth', 'config'],
    ...['database', 'telemetry', 'model'],
  ],
  application: [
    ...['serving', 'observing', 'monitoring', 'cluster', 'observer', 'http', 'importers', 'recorder'],
    ...['config', 'database', 'telemetry', 'model'],
  ],
  asking: ['rest', 'graphql', 'feed', 'limits', 'loaders', 'auth', 'database', 'model'],
  cli: [
    ...['application', 'cluster', 'asking', 'observing', 'monitoring', 'http', 'auth', 'config', 'notify'],
    ...['observer', 'limits'],
    ...['importers', 'exporters', 'recorder', 'history', 'database', 'telemetry', 'model'],
  ],
  main: ['cli', 'application', 'config', 'telemetry', 'model'],
};

/** What the pure layers may use of Node.js: nothing that reads, writes, or tells the time. */
const PURE_MODULES = ['node:buffer', 'node:crypto', 'node:url', 'ipaddr.js', 'lru-cache', 'tldts'];

interface SourceFile {
  readonly path: string;
  readonly layer: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files: SourceFile[] = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .map((path) => path.split(sep).join('/'))
  .filter((path) => path.endsWith('.ts') && !path.startsWith('database/generated/'))
  .map((path) => {
    const text = readFileSync(join(SOURCE, path), 'utf8');
    const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, target = '']) => target);
    return { path, layer: layerOf(path), text, imports };
  });

function layerOf(path: string): string {
  return path.split('/')[0]?.replace(/\.ts$/, '') ?? '';
}

function resolve(file: SourceFile, target: string): string | null {
  return target.startsWith('.') ? posix.join(posix.dirname(file.path), target).replace(/\.js$/, '.ts') : null;
}

test('no text names npx: outside of the checkout it would run another package', () => {
  const naming = files.filter(({ text }) => /\bnpx\b/.test(text)).map(({ path }) => path);
  expect(naming).toEqual([]);
});

describe('the layers of docs/architecture.md', () => {
  test.each(files.map((file) => [file.path, file] as const))('%s imports downward only', (_path, file) => {
    const allowed = [file.layer, ...(MAY_IMPORT[file.layer] ?? [])];
    const layers = file.imports
      .map((target) => resolve(file, target))
      .filter((path): path is string => path !== null)
      .map(layerOf);
    expect(layers.filter((layer) => !allowed.includes(layer))).toEqual([]);
  });

  test('every folder of src/ has its place among them', () => {
    expect(files.map(({ layer }) => layer).filter((layer) => !(layer in MAY_IMPORT))).toEqual([]);
  });

  test('no two files import each other in a circle', () => {
    const graph = new Map(
      files.map((file) => [file.path, file.imports.map((target) => resolve(file, target))] as const),
    );
    const done = new Set<string>();
    const visit = (path: string, trail: readonly string[]): void => {
      expect(trail, 'a circle of imports').not.toContain(path);
      if (!done.has(path)) {
        for (const next of graph.get(path) ?? []) {
          if (next !== null) {
            visit(next, [...trail, path]);
          }
        }
        done.add(path);
      }
    };
    for (const path of graph.keys()) {
      visit(path, []);
    }
  });

  test('model and history do no I/O, read no clock and do not know Prisma', () => {
    for (const { path, layer, imports, text } of files) {
      if (layer === 'model' || layer === 'history') {
        const packages = imports.filter((target) => !target.startsWith('.'));
        expect(
          packages.filter((target) => !PURE_MODULES.includes(target)),
          path,
        ).toEqual([]);
        expect(text, path).not.toMatch(/Date\.now\(|new Date\(\)|performance\.now|process\./);
      }
    }
  });

  test('no list becomes the arguments of a call where observations come in: V8 throws beyond some 100,000', () => {
    for (const { path, layer, text } of files) {
      if (
        ['model', 'importers', 'history', 'recorder'].includes(layer) ||
        path === 'observer/observe-domain.ts'
      ) {
        expect(text, path).not.toMatch(
          /\b(?:push|unshift|splice|max|min|fromCharCode|fromCodePoint)\([^;]*?\.\.\./,
        );
      }
    }
  });

  test('only config/env.ts reads the environment, and what the first process tells the others', () => {
    const readers = files.filter(({ text }) => text.includes('process.env')).map(({ path }) => path);
    expect(readers).toEqual(['cluster/member.ts', 'config/env.ts']);
  });

  test('data is read by loaders and written by the recorder: resolvers, routes and presenters hold no SQL', () => {
    for (const { path, layer, text } of files) {
      if (['resolvers', 'graphql', 'rest', 'http'].includes(layer)) {
        expect(text, path).not.toMatch(/\$queryRaw|\bSELECT\b|\bpool\.query/);
      }
    }
  });

  const SQL = /\$(?:queryRaw|executeRaw)|\bPrisma\.(?:sql|raw)\b|(?<!\b(?:dns|compiled))\.query[<(]/;
  const RECORD = new URL('../docs/decisions/0010-prisma-and-sql.md', import.meta.url);

  test('no statement is sent as text without its parameters beside it', () => {
    expect(files.filter(({ text }) => /RawUnsafe\b/.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('SQL stands in the files that decision 10 lists with their reasons, and in no other', () => {
    const rows = readFileSync(RECORD, 'utf8').matchAll(/^\| (`src\/[^|]*) \|/gm);
    const listed = [...rows].flatMap(([, cell = '']) => cell.match(/(?<=`src\/)[^`]+/g) ?? []).sort();
    const holders = files.filter(({ text }) => SQL.test(text)).map(({ path }) => path);
    const found = holders.map((path) => path.replace(/^database\/.*/, 'database/'));
    expect([...new Set(found)].sort()).toEqual(listed);
  });
});
