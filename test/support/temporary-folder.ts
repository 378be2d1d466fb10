import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A folder of the tests of one file, which is removed after them, and what writes a file in it. */
export function prepareFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'dms-test-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: string | Buffer) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  return { folder, write };
}
