import type { ChildProcess } from 'node:child_process';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bodies, replayLines } from '../replay/replay.js';
import { ownerOf } from '../support/data-directory.js';
import { createTestHome, TEST_SERVER, type TestHome } from '../support/database.js';
import { repeats } from '../support/long-form.js';
import { killAtOnce } from '../support/processes.js';
import { changingDomains, randomNumbers } from './changing-domains.js';
import { type ChangingSites, startChangingSites } from './changing-sites.js';
import { runDms, startDms } from './dms-command.js';
import { answersOf, differences, serveLocally } from './serving.js';

/** bench/kill-service.js sets more. */
const KILLS = Number(process.env['SERVICE_KILLS'] ?? repeats(3, 1));
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);
/** In milliseconds: the latest moment after the start of serving. */
const LATEST = 4000;
const SECOND = 1000;

const WATCHED = Array.from({ length: 40 }, (_, number) => `w${number}.example`);

const random = randomNumbers(SEED);
const lines = [...changingDomains({ domains: 50, rounds: 30 + 4 * KILLS, random })];
let home: TestHome;
let sites: ChangingSites;
let environment: Record<string, string>;
/** By domain: the changes that the service has said it has recorded. */
const acknowledged = new Map<string, number>();
/** What requests were answered with, by status. */
const statuses = new Map<number, number>();

beforeAll(async () => {
  home = await createTestHome();
  sites = await startChangingSites();
  environment = { ...home.environment, ...sites.environment, LOG_LEVEL: 'info' };
  const added = await runDms(['watch', 'add', ...WATCHED, '--every', '1s'], environment);
  expect(added).toMatchObject({ code: 0 });
});

afterAll(async () => {
  await sites.close();
  await home.remove();
});

interface Victim {
  readonly child: ChildProcess;
  readonly url: string;
  /** Settles with all that it has logged when it has ended. */
  readonly log: Promise<string>;
}

/** Starts a service that serves and observes. */
async function startVictim(): Promise<Victim> {
  const { child, result } = startDms(['serve'], { ...environment, PORT: '0' });
  const log = result.then(({ stderr }) => stderr);
  const url = new Promise<string>((resolve) => {
    let said = '';
    child.stdout?.on('data', (part: string) => {
      said += part;
      const found = /http:\/\/[\w.]+:\d+/.exec(said)?.[0];
      if (found !== undefined) resolve(found);
    });
  });
  const failure = log.then((text): never => {
    throw new Error(`dms serve ended: ${text}`);
  });
  failure.catch(() => {});
  return { child, url: await Promise.race([url, failure]), log };
}

/** Sends one request after another, until it is stopped or there is no response. */
async function ask(url: string, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const domain = WATCHED[Math.floor(random() * WATCHED.length)];
    const response = await fetch(`${url}/api/v1/domain/${domain}`).catch(() => null);
    if (response === null) return;
    await response.text().catch(() => '');
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
  }
}

/** Counts what a service has said that it has recorded, as far as it could say it. */
function noteAcknowledged(log: string): void {
  for (const line of log.split('\n')) {
    if (!line.includes('"msg":"observed"') || !line.endsWith('}')) continue;
    const { domain, recording }: { domain: string; recording: string } = JSON.parse(line);
    if (recording === 'changed') acknowledged.set(domain, (acknowledged.get(domain) ?? 0) + 1);
  }
}

/**
 * Lets a service serve, observe and record beside an import, and kills it; sometimes more than it.
 *
 * @param whenTold Not before it has logged an observation.
 */
async function killOnce(whenTold: boolean): Promise<string> {
  const importing = startDms(['import', '-'], environment, linesAsInput());
  const victim = await startVictim();
  const stopped = new AbortController();
  const asking = [ask(victim.url, stopped.signal), ask(victim.url, stopped.signal)];
  const began = performance.now();
  const others = random();
  // At any moment; or in the very moment that it tells of an observation.
  const told = nthTold(victim.child, Math.ceil(random() * 20));
  const limit = pause(random() * LATEST);
  await (whenTold ? told : random() < 0.5 ? limit : Promise.race([limit, told]));
  const moment = Math.round(performance.now() - began);
  victim.child.kill('SIGKILL');
  if (others < 0.5) importing.child.kill('SIGKILL');
  if (others < 0.3 && TEST_SERVER === undefined) await killOwner();
  noteAcknowledged(await victim.log);
  stopped.abort();
  await Promise.all([...asking, importing.result]);
  return `${moment} ms after it began to serve${others < 0.3 && TEST_SERVER === undefined ? ', with its database' : ''}`;
}

/** Settles when the service has logged so many observations. */
function nthTold(child: ChildProcess, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    child.stderr?.on('data', (part: string) => {
      left -= part.split('"msg":"observed"').length - 1;
      if (left <= 0) resolve();
    });
  });
}

async function killOwner(): Promise<void> {
  const owner = await ownerOf(home.options.dataDirectory).catch(() => null);
  if (owner !== null) await killAtOnce(owner);
}

function linesAsInput(): Readable {
  return Readable.from(lines.map((line) => `${line}\n`));
}

interface Body {
  readonly dnsRecords: readonly {
    readonly data: { readonly type: string; readonly txt?: string };
    readonly firstSeen: string;
    readonly removed: string | null;
  }[];
  readonly httpHeaders: readonly {
    readonly name: string;
    readonly history: readonly { readonly date: string; readonly new: string }[];
  }[];
}

/** What each observation of a domain has recorded: its time, the text of its TXT record, and its header. */
function recordedParts(text: string) {
  const { dnsRecords, httpHeaders }: Body = JSON.parse(text);
  const records = dnsRecords.filter(({ data }) => data.type === 'TXT');
  const items = httpHeaders.find(({ name }) => name === 'server')?.history ?? [];
  return {
    dns: records.map(({ data, firstSeen }) => `${firstSeen} ${data.txt}`),
    removals: records.map(({ removed }) => removed),
    http: items.map(({ date, new: value }) => `${date} ${value}`),
    nextTimes: [...items.slice(1).map(({ date }) => date), null],
  };
}

test(
  'a service that is killed while it records has every observation that it logged, and none in part',
  async () => {
    say(`seed ${SEED} (set KILL_SEED to repeat), ${KILLS} kills`);
    for (let kill = 1; kill <= KILLS; kill += 1) say(`kill ${kill}: ${await killOnce(kill === 1)}`);

    expect(await runDms(['import', '-'], environment, linesAsInput())).toMatchObject({ code: 0 });
    expect(await runDms(['verify'], environment)).toMatchObject({ code: 0 });
    const serving = await serveLocally({ ...home.environment, ROLE: 'api' });
    try {
      const expected = bodies(replayLines(lines));
      expect(differences(expected, await answersOf(serving.url, expected.keys()))).toEqual([]);
      expectWhole(await answersOf(serving.url, WATCHED));
    } finally {
      await serving.close();
    }
  },
  (60 + 30 * KILLS) * SECOND,
);

function expectWhole(answers: ReadonlyMap<string, string>): void {
  const count = { told: 0, recorded: 0 };
  for (const [domain, text] of answers) {
    const told = acknowledged.get(domain) ?? 0;
    if (text.includes('DOMAIN_NOT_FOUND')) {
      expect([domain, told]).toEqual([domain, 0]);
      continue;
    }
    const { dns, http, removals, nextTimes } = recordedParts(text);
    expect(dns).toEqual(http);
    expect(removals).toEqual(nextTimes);
    expect(http.length).toBeLessThanOrEqual(sites.looksAt(domain));
    expect([domain, http.length]).toEqual([domain, Math.max(http.length, told)]);
    count.told += told;
    count.recorded += http.length;
  }
  say(
    `${count.told} observations logged, ${count.recorded} recorded; answers: ${JSON.stringify([...statuses])}`,
  );
  expect(count.told).toBeGreaterThan(0);
  expect([...statuses.keys()].filter((status) => ![200, 404, 503].includes(status))).toEqual([]);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
