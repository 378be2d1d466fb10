import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll } from 'vitest';

const DOCUMENT = new URL('../../docs/clients.md', import.meta.url);
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** The code in a section of docs/clients.md, as it is written there, for a service at another address. */
export function documentedCode(heading: string, url: string): ReadonlyMap<string, string> {
  const sections = readFileSync(DOCUMENT, 'utf8').split(/^## /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/clients.md has no section ${heading}.`);
  const blocks = section.matchAll(/^```(\w+)\n(.*?)^```$/gms);
  const here = (code: string) => code.replaceAll('http://127.0.0.1:4000', url);
  return new Map(Array.from(blocks, ([, language = '', code = '']) => [language, here(code)]));
}

export function folderOfFile(): ClientFolder {
  const folder = new ClientFolder();
  afterAll(() => folder.remove());
  return folder;
}

/** A folder as that of a client's project: it has this project's packages. */
class ClientFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'dms-client-'));

  constructor() {
    symlinkSync(MODULES, join(this.path, 'node_modules'));
  }

  write(name: string, text: string | undefined): string {
    const path = join(this.path, name);
    writeFileSync(path, text ?? '');
    return path;
  }

  /** What the documented module of a client exports. */
  // biome-ignore lint/suspicious/noExplicitAny: it is a client's code, which no compiler has read
  async load(heading: string, url: string): Promise<any> {
    this.write('patient-fetch.mjs', documentedCode('When a limit is reached', url).get('js'));
    const name = `${heading.toLowerCase().replaceAll(' ', '-')}.mjs`;
    const path = this.write(name, documentedCode(heading, url).get('js'));
    // Of each service a module of its own.
    return import(/* @vite-ignore */ `${pathToFileURL(path).href}?${new URL(url).port}`);
  }

  remove(): void {
    rmSync(this.path, { recursive: true });
  }
}
