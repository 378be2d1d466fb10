import { basename, delimiter, dirname, relative, resolve } from 'node:path';
import type { readInvocation } from '../config/env.js';

/**
 * How the user calls the program: as it was called, so that a hint can be repeated.
 *
 * `npx dms` is given only inside of the project, or of the folder where it is installed as a package: elsewhere, npx would fetch
 * another package of that name.
 */
export function calledAs(invocation: ReturnType<typeof readInvocation>): string {
  const { script, folder, project, environment } = invocation;
  const { npm_command: npm, INIT_CWD: calledIn = folder, PATH = '', _: typed = '' } = environment;
  if (npm !== undefined) {
    const home = project.replace(/\/node_modules\/[^/]+$/, '');
    // `npm start` runs in the project, wherever the user is.
    const isInside = isWithin(home, folder) && isWithin(home, calledIn);
    return isInside ? 'npx dms' : byNode(project, folder);
  }
  if (basename(script) === 'dms' && PATH.split(delimiter).includes(dirname(script))) return 'dms';
  // Shells set `_` to the path that was typed, and leave it to what was started, and to what that starts.
  return resolve(folder, typed) === script ? asArgument(typed) : byNode(project, folder);
}

function byNode(project: string, folder: string): string {
  const program = resolve(project, 'bin/dms.js');
  return `node ${asArgument(isWithin(folder, program) ? relative(folder, program) : program)}`;
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** A path as an argument in a shell. */
export function asArgument(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/**
 * Writes the program in a text as the user calls it, where a command of it follows.
 *
 * @param name What calledAs() gives.
 */
export function nameProgram(text: string, name: string, commands: readonly { name(): string }[]): string {
  if (name === 'dms') return text;
  const words = [...commands.map((command) => command.name()), 'help'].join('|');
  const call = new RegExp(`(?<![\\w./-])dms (?=(?:${words})\\b|\\[options\\]|--help)`, 'g');
  return text.replace(call, () => `${name} `);
}
