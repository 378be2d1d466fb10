import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.js';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { Container, Service } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readSettings } from '../../src/config/env.js';
import { assignedNames, CHECKOUT, LONGEST_STOP, textOf } from '../support/deployment-files.js';
import { isInstalled } from '../support/processes.js';
import { settingNames } from '../support/setting-names.js';

const FOLDER = 'deploy/kubernetes';

type Manifest = Deployment | HorizontalPodAutoscaler | Job | NetworkPolicy | PodDisruptionBudget | Service;

/** What is read here of kustomization.yaml. */
interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string }[];
  readonly configMapGenerator: readonly { readonly literals: readonly string[] }[];
}

const kustomization: Kustomization = parse(textOf(`${FOLDER}/kustomization.yaml`));
const literals = kustomization.configMapGenerator.flatMap((one) => one.literals);

function manifestsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
}

const manifests = kustomization.resources.flatMap((file) => manifestsOf(textOf(`${FOLDER}/${file}`)));
const workloads = manifests.filter(
  (one): one is Deployment | Job => one.kind === 'Deployment' || one.kind === 'Job',
);
const pods = workloads.map(
  ({ metadata, spec }) => [metadata?.name ?? '', spec?.template.spec ?? expect.fail('no pod')] as const,
);
const containers = pods.flatMap(([name, pod]) => pod.containers.map((one) => [name, one] as const));

const isDeployed = ([name]: readonly [string, unknown]) => name !== 'dms-migration';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dms-kubernetes-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function portOf(container: Container, name: string): number | undefined {
  return container.ports?.find((port) => port.name === name)?.containerPort;
}

test('the manifests for Kubernetes are all applied, and have all that kustomization.yaml names', () => {
  const files = readdirSync(join(CHECKOUT, FOLDER)).filter((name) => name.endsWith('.yaml'));
  expect([...kustomization.resources, 'kustomization.yaml'].sort()).toEqual(files.sort());
});

test("the manifests for Kubernetes have only fields of Kubernetes' API, with values of their types", () => {
  const lines = manifests.map((one, index) => {
    const library = join(CHECKOUT, 'node_modules/kubernetes-types', groupOf(one.apiVersion));
    return `export const _${index}: import(${JSON.stringify(`${library}.js`)}).${one.kind} = ${JSON.stringify(one, null, 1)};`;
  });
  const file = join(newFolder(), 'manifests.ts');
  writeFileSync(file, lines.join('\n'));
  const compiler = join(CHECKOUT, 'node_modules/typescript/bin/tsc');
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'preserve', '--types', ''];
  const { stdout, status } = spawnSync(process.execPath, [compiler, ...options, file]);
  expect([String(stdout), status]).toEqual(['', 0]);
});

test.skipIf(!isInstalled('kubectl'))(
  'the manifests for Kubernetes are rendered by kubectl kustomize, with the settings they name',
  () => {
    const copy = newFolder();
    cpSync(join(CHECKOUT, FOLDER), copy, { recursive: true });
    cpSync(join(copy, '.env.example'), join(copy, '.env'));
    const rendered = manifestsOf(String(execFileSync('kubectl', ['kustomize', copy])));
    expect(rendered.length).toBe(manifests.length + 2);
    const references = JSON.stringify(rendered).matchAll(/"(?:configMap|secret)Ref":\{"name":"([^"]+)"/g);
    const referred = Array.from(references, ([, name]) => name);
    expect(rendered.map(({ metadata }) => metadata?.name)).toEqual(expect.arrayContaining(referred));
    expect(referred.length).toBeGreaterThan(0);
  },
);

test('the manifests for Kubernetes set only variables that the program reads', () => {
  const set = [
    ...assignedNames(literals.join('\n')),
    ...assignedNames(textOf(`${FOLDER}/.env.example`)),
    ...containers.flatMap(([, { env = [] }]) => env.map(({ name }) => name)),
  ];
  const names = settingNames();
  expect(set.length).toBeGreaterThan(4);
  expect(set.filter((name) => !names.has(name))).toEqual([]);
});

test('the manifests for Kubernetes run one image: that of compose.yaml', () => {
  const [{ name } = { name: '' }] = kustomization.images;
  expect(kustomization.images).toHaveLength(1);
  expect(containers.map(([, { image }]) => image).filter((image) => image !== name)).toEqual([]);
  expect(textOf('compose.yaml')).toContain(`image: ${name}\n`);
});

test('the manifests for Kubernetes select pods that there are', () => {
  const selectors = manifests.flatMap(selectorOf);
  expect(selectors).toHaveLength(5);
  for (const selector of selectors) {
    const found = workloads.filter(({ spec }) =>
      Object.entries(selector).every(([key, value]) => spec?.template.metadata?.labels?.[key] === value),
    );
    expect(found).not.toEqual([]);
  }
});

test.each(containers.filter(isDeployed))(
  'the manifests for Kubernetes probe %s where it listens, and do not restart it when the database is away',
  (_, container) => {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    const probes = [startupProbe, livenessProbe, readinessProbe];
    expect(probes.map((probe) => probe?.httpGet?.path)).toEqual(['/livez', '/livez', '/readyz']);
    for (const probe of probes) {
      expect(portOf(container, String(probe?.httpGet?.port))).toBeDefined();
      // docs/operating.md
      expect(probe?.timeoutSeconds).toBe(3);
    }
    expect(literals).toContain(`METRICS_PORT=${portOf(container, 'metrics')}`);
    expect([undefined, readSettings({}).port]).toContain(portOf(container, 'http'));
  },
);

test.each(pods.filter(isDeployed))(
  'the manifests for Kubernetes let %s complete its requests before it is killed',
  (_, pod) => {
    const pauses = pod.containers.map(({ lifecycle }) =>
      Number(lifecycle?.preStop?.exec?.command?.at(-1) ?? 0),
    );
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(Math.max(...pauses) + LONGEST_STOP);
  },
);

test.each(pods)(
  'the manifests for Kubernetes give %s no right and no file that it does not need, and limit its memory',
  (_, pod) => {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    for (const { securityContext, resources } of pod.containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(resources?.requests).toHaveProperty('cpu', expect.stringMatching(/^\d+m$/));
      for (const memory of [resources?.requests?.['memory'], resources?.limits?.['memory']]) {
        expect(memory).toMatch(/^\d+[MG]i$/);
      }
    }
  },
);

test('the manifests for Kubernetes keep two API processes, and replace them without a gap', () => {
  const api = manifests.find((one) => one.kind === 'Deployment' && one.metadata?.name === 'dms-api');
  expect(api?.spec).toMatchObject({ strategy: { rollingUpdate: { maxUnavailable: 0 } } });
  expect(api?.spec).not.toHaveProperty('replicas');
  const scaler = manifests.find((one) => one.kind === 'HorizontalPodAutoscaler');
  expect(scaler?.spec).toMatchObject({ scaleTargetRef: { name: 'dms-api' }, minReplicas: 2 });
});

/** The module of kubernetes-types for a group and version: `networking.k8s.io/v1` is networking/v1, `v1` core/v1. */
function groupOf(apiVersion: string | undefined): string {
  const [version = '', group = 'core'] = (apiVersion ?? '').split('/').reverse();
  return `${group.split('.')[0]}/${version}`;
}

/** The labels of the pods that a manifest selects. */
function selectorOf(one: Manifest): Readonly<Record<string, string>>[] {
  switch (one.kind) {
    case 'Deployment':
    case 'PodDisruptionBudget':
      return [one.spec?.selector?.matchLabels ?? {}];
    case 'Service':
      return [one.spec?.selector ?? {}];
    case 'NetworkPolicy':
      return [one.spec?.podSelector.matchLabels ?? {}];
    default:
      return [];
  }
}
