import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codegen } from '@graphql-codegen/core';
import { parse } from 'graphql';
import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { serviceOfFile } from '../support/service.js';
import { documentedCode, folderOfFile } from './documented-clients.js';

let schema: string;
const folder = folderOfFile();
mkdirSync(join(folder.path, 'src'));
const service = serviceOfFile({}, async (started) => {
  schema = await (await started.fetch('/schema.graphql')).text();
});

/** Of Relay, which has programs for all systems in its package, and is therefore no dependency. */
const RELAY_COMPILER = process.env['RELAY_COMPILER'];

test.skipIf(RELAY_COMPILER === undefined)('Relay compiles connections and refetches, as documented', () => {
  const code = documentedCode('Relay', service.url);
  folder.write('schema.graphql', schema);
  folder.write('relay.config.json', code.get('json'));
  folder.write('src/Domain.ts', code.get('ts'));
  const { status, stdout, stderr } = spawnSync(RELAY_COMPILER ?? '', ['relay.config.json'], {
    cwd: folder.path,
    encoding: 'utf8',
  });
  expect(status, `${stdout}${stderr}`).toBe(0);
  const artifact = join(folder.path, 'src/__generated__/DomainChangesQuery.graphql.ts');
  expect(readFileSync(artifact, 'utf8')).toMatch(/node\(id: \$id\)/);
});

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
const STRICT = '--strict --noEmit --skipLibCheck --target es2022 --moduleResolution bundler'.split(' ');

test('GraphQL Code Generator writes types that tell the records apart, as documented', async () => {
  const code = documentedCode('GraphQL Code Generator', service.url);
  const { schema: address, generates } = parseYaml(code.get('yaml') ?? '');
  expect(address).toBe(`${service.url}/schema.graphql`);
  const path = 'src/operations.ts';
  const { plugins, config }: { plugins: string[]; config: object } = generates[path];
  const loaded = plugins.map(async (name) => [name, await import(`@graphql-codegen/${name}`)] as const);
  const operation = parse(code.get('graphql') ?? '');
  const types = await codegen({
    filename: path,
    schema: parse(schema),
    documents: [{ location: 'records.graphql', document: operation }],
    config,
    plugins: plugins.map((name) => ({ [name]: {} })),
    pluginMap: Object.fromEntries(await Promise.all(loaded)),
  });
  folder.write(path, types);
  folder.write('src/mail-servers.ts', code.get('ts'));
  const compile = (file: string) =>
    spawnSync(process.execPath, [TSC, ...STRICT, file], { cwd: folder.path, encoding: 'utf8' });
  expect(compile('src/mail-servers.ts').stdout).toBe('');
  folder.write('src/wrong.ts', `${code.get('ts')}`.replace('record.target', 'record.ip'));
  expect(compile('src/wrong.ts').stdout).toContain("Property 'ip' does not exist");
});
