import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.js';

/**
 * @typedef {object} Step
 * @property {string} name of the stamp in dist/.stamps that holds the digest of the inputs
 * @property {string} line what is said while it runs
 * @property {string[]} inputs files and folders of sources, from the checkout
 * @property {string} output a file that exists once the step has run
 * @property {string[]} command a script and its arguments, run by this Node
 */

/** @type {readonly Step[]} */
const STEPS = [
  {
    name: 'prisma',
    line: 'Generating the database client',
    inputs: ['prisma/schema.prisma', 'prisma.config.ts', 'package-lock.json'],
    output: 'src/database/generated/client.ts',
    command: ['node_modules/prisma/build/index.js', 'generate'],
  },
  {
    name: 'codegen',
    line: "Generating the resolvers' types",
    inputs: ['schema.graphql', 'scripts/codegen.js', 'package-lock.json'],
    output: 'src/resolvers/types.generated.ts',
    command: ['scripts/codegen.js'],
  },
  {
    name: 'compile',
    line: 'Compiling',
    inputs: ['src', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'],
    output: 'dist/main.js',
    command: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'],
  },
  {
    name: 'pages',
    line: 'Gathering the scripts and styles of the pages',
    inputs: ['scripts/pages.js', 'package-lock.json'],
    output: 'dist/pages/LICENSES.txt',
    command: ['scripts/pages.js'],
  },
];

/**
 * Whether dist/ was made from the sources as they are.
 *
 * @param {string} root the checkout
 * @returns {boolean}
 */
export function isBuilt(root) {
  return STEPS.every((step) => isFresh(root, step));
}

/**
 * Runs those of the steps whose inputs have changed, in their order: each may write inputs of the next.
 *
 * @param {string} root the checkout
 * @param {(line: string) => void} say
 * @returns {Promise<void>}
 * @throws {Error} where a step fails; its own output has been printed
 */
export async function build(root, say) {
  for (const step of STEPS) {
    if (isFresh(root, step)) continue;
    say(step.line);
    const inputs = digestOf(root, step);
    // The compiler's note of what it wrote would keep it from writing a file again that was deleted.
    if (!existsSync(join(root, step.output))) rmSync(join(root, 'dist/.tsbuildinfo'), { force: true });
    const [script = '', ...args] = step.command;
    await run(process.execPath, [join(root, script), ...args], { cwd: root, quiet: true });
    mkdirSync(join(root, 'dist/.stamps'), { recursive: true });
    writeFileSync(stampOf(root, step), inputs);
  }
}

/**
 * @param {string} root
 * @param {Step} step
 */
function isFresh(root, step) {
  if (!existsSync(stampOf(root, step)) || !existsSync(join(root, step.output))) return false;
  return readFileSync(stampOf(root, step), 'utf8') === digestOf(root, step);
}

/**
 * @param {string} root
 * @param {Step} step
 */
function stampOf(root, step) {
  return join(root, 'dist/.stamps', step.name);
}

/**
 * @param {string} root
 * @param {Step} step
 */
function digestOf(root, step) {
  const hash = createHash('sha256');
  for (const file of step.inputs.flatMap((input) => filesOf(root, input))) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

/**
 * @param {string} root
 * @param {string} path a file, or a folder of TypeScript
 * @returns {string[]}
 */
function filesOf(root, path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  const names = readdirSync(join(root, path), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(path, name))
    .sort();
}
