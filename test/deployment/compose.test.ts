import { join } from 'node:path';
import { DCLinter } from 'dclint';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHECKOUT, LONGEST_STOP, textOf } from '../support/deployment-files.js';
import { settingNames } from '../support/setting-names.js';

/** What is read here of a service of compose.yaml. */
interface ComposeService {
  readonly image: string;
  readonly command?: string | readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly volumes?: readonly string[];
  readonly stop_grace_period?: string;
  readonly deploy?: { readonly replicas?: number };
}

const TEXT = textOf('compose.yaml');
const compose: Readonly<{ services: Readonly<Record<string, ComposeService>>; configs?: object }> = parse(
  TEXT,
  { merge: true },
);

const services = Object.entries(compose.services);
const own = services.filter(([, { image }]) => image === 'domain-metadata-service');

function service(name: string): ComposeService {
  return compose.services[name] ?? expect.fail(`${name} is missing`);
}

test("compose.yaml is valid by the Compose specification's schema, and a linter finds no error", () => {
  const linter = new DCLinter({ rules: {}, quiet: true, debug: false, exclude: [] });
  const [result] = linter.lintFiles([join(CHECKOUT, 'compose.yaml')], false);
  expect(result?.messages.filter(({ type }: { readonly type: string }) => type === 'error')).toEqual([]);
});

test('compose.yaml has PostgreSQL, Redis, a migration, two API processes and a worker', () => {
  const names = services.map(([name]) => name).sort();
  expect(names).toEqual(['api', 'migrate', 'postgres', 'proxy', 'redis', 'worker']);
  expect(service('api').deploy?.replicas).toBe(2);
  expect(service('api').environment).toMatchObject({ ROLE: 'api' });
  expect(service('worker').command).toEqual(['worker']);
});

test('compose.yaml starts processes only once the database is migrated', () => {
  expect(service('migrate').command).toEqual(['migrate']);
  expect(service('migrate').depends_on?.['postgres']?.condition).toBe('service_healthy');
  for (const name of ['api', 'worker']) {
    expect(service(name).depends_on?.['migrate']?.condition).toBe('service_completed_successfully');
  }
});

test.each(services)('compose.yaml gives %s no more rights, memory and processors than it needs', (_, one) => {
  const rights = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] };
  const limits = { cpus: expect.anything(), memory: expect.anything() };
  expect(one).toMatchObject({ ...rights, deploy: { resources: { limits } } });
});

test.each(own)('compose.yaml sets no variable of %s that the program does not read', (_, one) => {
  const names = settingNames();
  expect(Object.keys(one.environment ?? {}).filter((name) => !names.has(name))).toEqual([]);
});

test.each(own)('compose.yaml lets %s complete its requests before it is killed', (_, one) => {
  expect(Number(/^(\d+)s$/.exec(one.stop_grace_period ?? '')?.[1])).toBeGreaterThan(LONGEST_STOP);
});

test('compose.yaml has no password, and publishes one port, on loopback', () => {
  expect(TEXT.match(/\$\{POSTGRES_PASSWORD:\?/g)).toHaveLength(2);
  expect(TEXT.match(/PASSWORD: (?!\$\{)/g)).toBeNull();
  expect(services.flatMap(([, { ports = [] }]) => ports)).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)]);
});

test('compose.yaml has a proxy that listens on the published port and finds all API processes', () => {
  const content = textOf('deploy/Caddyfile');
  // Compose writes the content of `configs` into a container, which fails where that is read-only.
  expect(compose.configs).toBeUndefined();
  expect(service('proxy').volumes).toEqual(['./deploy/Caddyfile:/etc/caddy/Caddyfile:ro']);
  const [, target = ''] = /:(\d+)$/.exec(service('proxy').ports?.[0] ?? '') ?? [];
  expect(content).toMatch(new RegExp(`^:${target} \\{$`, 'm'));
  expect(content).toMatch(/dynamic a api 4000 \{/);
  expect(service('api').environment).toMatchObject({ TRUST_PROXY: '1' });
});
