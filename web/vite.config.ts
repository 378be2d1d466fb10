import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import * as operations from './src/operations.generated.js';

/** Writes what the page sends as a list for PERSISTED_ONLY: documents by their SHA-256. */
const operationsList: Plugin = {
  name: 'operations-list',
  generateBundle() {
    const documents = Object.entries(operations)
      .filter(([name]) => name.endsWith('Document'))
      .map(([, document]) => String(document));
    const byHash = documents.map((text) => [createHash('sha256').update(text).digest('hex'), text]);
    this.emitFile({
      type: 'asset',
      fileName: 'operations.json',
      source: JSON.stringify(Object.fromEntries(byHash), null, 2),
    });
  },
};

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // The server puts the files under its base path; parts of the script find each other by their own address.
  base: './',
  envDir: false,
  logLevel: 'warn',
  // In tsconfig.json, too, which Vite does not find below a folder whose name has brackets.
  oxc: { jsx: { importSource: 'preact' } },
  plugins: [operationsList],
  build: {
    outDir: fileURLToPath(new URL('../dist/web', import.meta.url)),
    emptyOutDir: true,
    // Names are hashed, so that browsers can keep what they have loaded.
    assetsDir: '.',
    // A picture or font inside a style would need data: in the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'LICENSES.md' },
  },
});
