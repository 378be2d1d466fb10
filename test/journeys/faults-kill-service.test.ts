import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { bodies, replayLines } from '../replay/replay.js';
import { killOwner } from '../support/data-directory.js';
import { createTestHome, TEST_SERVER, type TestHome } from '../support/database.js';
import { startDnsServer } from '../support/dns-server.js';
import { keepUntilEnd } from '../support/keep.js';
import { repeats, say } from '../support/long-form.js';
import { settingsToObserve, startHttpServer } from '../support/web-server.js';
import { changingDomains, randomNumbers } from './changing-domains.js';
import { runDms, startDms } from './dms-command.js';
import { answersIn, differences, type Serving, serve } from './serving.js';

/** bench/kill-service.js sets more. */
const KILLS = Number(process.env['SERVICE_KILLS'] ?? repeats(3, 1));
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);
/** In milliseconds: the latest moment after the start of serving. */
const LATEST = 4000;
const SECOND = 1000;

const WATCHED = Array.from({ length: 40 }, (_, number) => `w${number}.example`);

const random = randomNumbers(SEED);
const lines = [...changingDomains(50, 30 + 4 * KILLS, SEED)];
const linesAsInput = () => Readable.from(lines.map((line) => `${line}\n`));

let home: TestHome;
const keep = keepUntilEnd();
let environment: Record<string, string>;
/** By watched domain, how often its site was requested: at each look, the TXT record and the header `server` are others. */
const looks = new Map<string, number>();
const acknowledged = new Map<string, number>();
const statuses = new Map<number, number>();

beforeAll(async () => {
  home = keep(await createTestHome());
  const [dns, site] = [keep(await startDnsServer()), keep(await startHttpServer())];
  dns.generate((name, type) => {
    if (type === 'A') return ['127.0.0.1'];
    // DNS is queried before the site: the text is of the next look.
    return type === 'TXT' ? [`"look ${(looks.get(name) ?? 0) + 1}"`] : [];
  });
  site.serve(({ fields }) => {
    const domain = fields.find(([name]) => /^host$/i.test(name))?.[1].replace(/:.*/, '') ?? '';
    looks.set(domain, (looks.get(domain) ?? 0) + 1);
    return { fields: [['server', `look ${looks.get(domain)}`]] };
  });
  environment = {
    ...home.environment,
    ...settingsToObserve(dns.port, site.port),
    OBSERVE_CONCURRENCY: '20',
    OBSERVE_CONNECTIONS_PER_ADDRESS: '1000',
    OBSERVE_QUESTIONS_PER_RESOLVER: '50',
    // A look ends at half of it: on a busy machine one that takes longer has DNS without the site.
    OBSERVE_LEASE: '20s',
    LOG_LEVEL: 'info',
  };
  const added = await runDms(['watch', 'add', ...WATCHED, '--every', '1s'], environment);
  expect(added).toMatchObject({ code: 0 });
});

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
  const victim = await serve(environment);
  const stopped = new AbortController();
  const asking = [ask(victim.url, stopped.signal), ask(victim.url, stopped.signal)];
  const began = performance.now();
  const others = random();
  // At any moment; or in the very moment that it tells of an observation.
  const told = nthTold(victim, Math.ceil(random() * 20));
  const limit = pause(random() * LATEST);
  await (whenTold ? told : random() < 0.5 ? limit : Promise.race([limit, told]));
  const moment = Math.round(performance.now() - began);
  victim.child.kill('SIGKILL');
  if (others < 0.5) importing.child.kill('SIGKILL');
  const isWithDatabase = others < 0.3 && TEST_SERVER === undefined;
  if (isWithDatabase) await killOwner(home.options.dataDirectory);
  noteAcknowledged((await victim.result).stderr);
  stopped.abort();
  await Promise.all([...asking, importing.result]);
  return `${moment} ms after it began to serve${isWithDatabase ? ', with its database' : ''}`;
}

/** Settles when the service has logged so many observations. */
function nthTold({ child }: Serving, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    child.stderr?.on('data', (part: string) => {
      left -= part.split('"msg":"observed"').length - 1;
      if (left <= 0) resolve();
    });
  });
}

interface Body {
  readonly dnsRecords: { data: { type: string; txt?: string }; firstSeen: string; removed: string | null }[];
  readonly httpHeaders: { name: string; history: { date: string; new: string }[] }[];
}

test(
  'a service that is killed while it records has every observation that it logged, and none in part',
  async () => {
    say(`seed ${SEED} (set KILL_SEED to repeat), ${KILLS} kills`);
    for (let kill = 1; kill <= KILLS; kill += 1) say(`kill ${kill}: ${await killOnce(kill === 1)}`);

    expect(await runDms(['import', '-'], environment, linesAsInput())).toMatchObject({ code: 0 });
    expect(await runDms(['verify'], environment)).toMatchObject({ code: 0 });
    const expected = bodies(replayLines(lines));
    const answers = await answersIn({ ...home.environment, ROLE: 'api' }, [...expected.keys(), ...WATCHED]);
    const imported = [...expected.keys()].map((domain) => [domain, answers.get(domain) ?? ''] as const);
    expect(differences(expected, new Map(imported))).toEqual([]);
    const told = [...acknowledged.values()].reduce((sum, count) => sum + count, 0);
    say(`${told} observations logged; answers: ${JSON.stringify([...statuses])}`);
    expect(told).toBeGreaterThan(0);
    for (const domain of WATCHED) expectWhole(domain, answers.get(domain) ?? '');
    expect([...statuses.keys()].filter((status) => ![200, 404, 503].includes(status))).toEqual([]);
  },
  (60 + 30 * KILLS) * SECOND,
);

/** Each look is there with its text and its header, or not at all, and no fewer than were logged. */
function expectWhole(domain: string, text: string): void {
  const told = acknowledged.get(domain) ?? 0;
  if (text.includes('DOMAIN_NOT_FOUND')) {
    expect([domain, told]).toEqual([domain, 0]);
    return;
  }
  const { dnsRecords, httpHeaders }: Body = JSON.parse(text);
  const texts = dnsRecords.filter(({ data }) => data.type === 'TXT');
  const items = httpHeaders.find(({ name }) => name === 'server')?.history ?? [];
  const dates = items.map(({ date }) => date);
  expect(texts.map(({ data, firstSeen }) => [firstSeen, data.txt])).toEqual(
    items.map(({ date, new: value }) => [date, value]),
  );
  expect(texts.map(({ removed }) => removed)).toEqual([...dates.slice(1), null].slice(0, dates.length));
  expect(items.length).toBeLessThanOrEqual(looks.get(domain) ?? 0);
  expect([domain, items.length]).toEqual([domain, Math.max(items.length, told)]);
}
