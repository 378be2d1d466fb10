import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const TESTS = fileURLToPath(new URL('test/', import.meta.url));

/** What a test of rules, values or parsers does without, in whatever it imports of the tests. */
const REAL_PARTS = [
  /from 'node:(?:child_process|net|https?|http2|tls|dgram|cluster|worker_threads)'/,
  /from '(?:pg|supertest|playwright-core)'/,
  /from '[./]*src\/(?:database|recorder|loaders|resolvers|feed|auth|cli|cluster|telemetry|application|main)\b/,
];

/** @param seen Files that were looked at before: some import each other. */
function needsRealParts(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  const imported = Array.from(text.matchAll(/from '(\.{1,2}\/[^']+)\.js'/g), ([, path]) =>
    resolve(dirname(file), `${path}.ts`),
  ).filter((path) => path.startsWith(TESTS) && existsSync(path));
  return REAL_PARTS.some((part) => part.test(text)) || imported.some((path) => needsRealParts(path, seen));
}

/** Of which some tests have a long form, beside the short one in `npm test`. */
const hasLongForm = (file: string) => readFileSync(file, 'utf8').includes('support/long-form.js');

/** The tests for JOURNEYS=long, those for TESTS=fast, which need no database, process or socket, or all. */
function filesToRun(): string[] {
  const isLong = process.env['JOURNEYS'] === 'long';
  if (!isLong && process.env['TESTS'] !== 'fast') return ['test/**/*.test.ts'];
  return readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .map((name) => TESTS + name)
    .filter((file) => file.endsWith('.test.ts') && (isLong ? hasLongForm(file) : !needsRealParts(file)));
}

/** Takes what starts processes, or waits, first, so that no worker is left with a long file at the end. */
class ProcessesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => TAKES_LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

const TAKES_LONG =
  /\/test\/(?:journeys|cli|database|http\/pages-in-browser|notify|graphql\/subscriptions|web\/page|telemetry\/traces)/;

/** In milliseconds; the long forms take up to half an hour. */
const LONGEST_TEST = process.env['JOURNEYS'] === 'long' ? 1_800_000 : 120_000;

/** Loaded by each process that a test starts. */
const QUICK_START = fileURLToPath(new URL('test/support/quick-start.cjs', import.meta.url));

export default defineConfig({
  // Tests read no .env file: what they do depends on the environment alone.
  envDir: false,
  // Vite would take the module build of graphql, and graphql-jit requires the other: two copies in one
  // process do not know each other's types. Node.js itself takes this one for both.
  resolve: { alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }] },
  test: {
    include: filesToRun(),
    // A worker loads the program once, not anew for each file: a third of the time. What a test replaces, it puts back.
    isolate: false,
    env: {
      // In place of what is set around the tests: warnings that it asks for would be on every process's standard error.
      NODE_OPTIONS: `--require ${JSON.stringify(QUICK_START)}`,
    },
    ...(process.env['TESTS'] !== 'fast' && { globalSetup: 'test/support/global-setup.ts' }),
    // More than two cores: some tests wait. Each has a database in a process of some 450 MB beside it.
    maxWorkers: 4,
    sequence: { sequencer: ProcessesFirst },
    // Against a test that hangs, not one that is slow: machines are shared.
    testTimeout: LONGEST_TEST,
    hookTimeout: LONGEST_TEST,
    expect: { poll: { timeout: 60_000 } },
    teardownTimeout: 60_000,
    // Where others take nine tenths of the processors for seconds, a limit of time can pass that a test does not mean: there
    // a failed test runs once more, and the report says so.
    retry: process.env['CI'] === 'true' ? 1 : 0,
  },
});
