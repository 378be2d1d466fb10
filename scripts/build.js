import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from './run.js';

/**
 * @typedef {object} Step
 * @property {string} name of the stamp in dist/.stamps that holds the digest of the inputs
 * @property {string} line printed when it starts
 * @property {string[]} inputs files, and folders of sources, in the checkout
 * @property {string[]} outputs files that exist once the step has run
 * @property {string[]} command a script and its arguments, run by this Node
 */

/** @type {readonly Step[]} */
const STEPS = [
  {
    name: 'prisma',
    line: 'Generating the database client',
    inputs: ['prisma/schema.prisma', 'prisma.config.ts', 'scripts/generate-client.js', 'package-lock.json'],
    outputs: ['src/database/generated/client.ts'],
    command: ['scripts/generate-client.js'],
  },
  {
    name: 'codegen',
    line: 'Generating types from the schema',
    inputs: [
      'schema.graphql',
      'web/operations.graphql',
      'src/rest/v1/openapi.yaml',
      'scripts/codegen.js',
      'package-lock.json',
    ],
    outputs: ['src/resolvers/types.generated.ts', 'web/src/operations.generated.ts', 'dist/openapi.json'],
    command: ['scripts/codegen.js'],
  },
  {
    name: 'compile',
    line: 'Compiling',
    inputs: ['src', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'],
    outputs: ['dist/main.js'],
    command: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'],
  },
  {
    name: 'pages',
    line: 'Gathering what the other pages load, and the documents',
    inputs: [
      'scripts/pages.js',
      'web/pages',
      'samples/queries.graphql',
      'README.md',
      'docs',
      'package-lock.json',
    ],
    outputs: ['dist/pages/LICENSES.txt'],
    command: ['scripts/pages.js'],
  },
  {
    name: 'web',
    line: 'Building the page',
    inputs: ['web', 'src/model/csv.ts', 'src/model/word-questions.ts', 'package-lock.json'],
    outputs: ['dist/web/index.html'],
    command: ['node_modules/vite/bin/vite.js', 'build', '--config', 'web/vite.config.ts'],
  },
];

/**
 * Whether dist/ was built from the sources as they are.
 *
 * @returns {boolean}
 */
export function isBuilt() {
  return STEPS.every(isFresh);
}

/**
 * Runs the steps whose inputs have changed, in order: each may write inputs of the next.
 *
 * @param {(line: string) => void} say
 * @returns {Promise<void>}
 * @throws {Error} if a step fails; its output has been printed
 */
export async function build(say) {
  for (const step of STEPS) {
    if (isFresh(step)) continue;
    say(step.line);
    const inputs = digestOf(step);
    // The compiler's record of what it wrote would keep it from writing a file again that was deleted.
    if (!haveOutputs(step)) rmSync(join(ROOT, 'dist/.tsbuildinfo'), { force: true });
    const [script = '', ...args] = step.command;
    await run(process.execPath, [join(ROOT, script), ...args], { quiet: true });
    mkdirSync(join(ROOT, 'dist/.stamps'), { recursive: true });
    writeFileSync(stampOf(step), inputs);
  }
}

/** @param {Step} step */
function isFresh(step) {
  if (!existsSync(stampOf(step)) || !haveOutputs(step)) return false;
  return readFileSync(stampOf(step), 'utf8') === digestOf(step);
}

/** @param {Step} step */
function haveOutputs({ outputs }) {
  return outputs.every((output) => existsSync(join(ROOT, output)));
}

/** @param {Step} step */
function stampOf(step) {
  return join(ROOT, 'dist/.stamps', step.name);
}

/** @param {Step} step */
function digestOf(step) {
  const hash = createHash('sha256');
  for (const file of step.inputs.flatMap(filesOf)) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

const SOURCE = /\.(?:tsx?|js|css|html|svg|graphql|json|md)$/;

/**
 * @param {string} path a file, or a folder of sources
 * @returns {string[]}
 */
function filesOf(path) {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  const names = readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => SOURCE.test(name))
    .map((name) => join(path, name))
    .sort();
}
