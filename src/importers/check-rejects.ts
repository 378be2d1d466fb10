import { type BigIntStats, constants, fstatSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UsageError } from '../model/errors.js';
import { unwritableRejects } from './rejects.js';

/** File descriptor of standard input. */
const STANDARD_INPUT = 0;

/**
 * Checks, before anything is read or written, that a file may take refused lines.
 *
 * @param inputs the paths of what is imported; `-` is standard input.
 * @throws UsageError where the file is one of the inputs, by whatever name, or holds something already;
 *   OperationError where it cannot be written.
 */
export async function checkRejects(path: string, inputs: readonly string[]): Promise<void> {
  const file = await statsOf(path);
  if (file?.isDirectory() === true) throw new UsageError(`--rejects ${path} is a folder: name a file.`);
  // A pipe or a terminal holds nothing that could be lost.
  if (file?.isFile() === true) await refuseLoss(path, file, inputs);
  try {
    await access(file === null ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    throw unwritableRejects(path, error);
  }
}

async function refuseLoss(path: string, file: BigIntStats, inputs: readonly string[]) {
  for (const input of inputs) {
    const { dev, ino } = (await inputStats(input)) ?? {};
    if (dev === file.dev && ino === file.ino) {
      throw new UsageError(`--rejects ${path} is a file to be imported: choose another name.`);
    }
  }
  if (file.size > 0n) {
    throw new UsageError(`--rejects ${path} exists and is not empty: choose another name, or remove it.`);
  }
}

async function statsOf(path: string): Promise<BigIntStats | null> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw unwritableRejects(path, error);
  }
}

/** Null for an input that is not there, or cannot be looked at: reading it says so. */
async function inputStats(input: string): Promise<BigIntStats | null> {
  try {
    return input === '-' ? fstatSync(STANDARD_INPUT, { bigint: true }) : await stat(input, { bigint: true });
  } catch {
    return null;
  }
}
