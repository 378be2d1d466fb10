import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { compareInstants, formatInstant, parseInstant } from '../../src/model/instant.js';
import { changeItems } from '../replay/body.js';
import { replayLines } from '../replay/replay.js';
import { createTestHome, type TestHome } from '../support/database.js';
import { keepUntilEnd } from '../support/keep.js';
import { repeats, say } from '../support/long-form.js';
import { prepareFolder } from '../support/temporary-folder.js';
import { randomNumbers, rotatingLines } from './changing-domains.js';
import { runDms, startDms } from './dms-command.js';
import { type TimedLine, timedLines } from './instants.js';
import { headerLine, observationLine, typeLine } from './random-observations.js';
import { answersIn, differences } from './serving.js';

/** On each home, so that `.ci/run` has twice as many. */
const CASES = Number(process.env['BACKFILL_CASES'] ?? repeats(1_000, 16));
const SEED = Number(process.env['BACKFILL_SEED'] ?? Date.now() % 1_000_000);

const random = randomNumbers(SEED);
const cases = Array.from({ length: CASES }, (_, place) => {
  const isRotating = place % 2 === 1;
  const domain = `${isRotating ? 'rotating' : 'random'}${place}.example`;
  return caseOf(domain, isRotating ? rotatingLines(domain, random) : randomLines(domain, place));
});
const names = cases.map(({ domain }) => domain);
const rotating = cases.filter(({ domain }) => domain.startsWith('rotating'));

function randomLines(domain: string, place: number): string[] {
  const line = fc.oneof(
    observationLine([domain]),
    headerLine(domain),
    typeLine(domain, 'A'),
    typeLine(domain, 'TXT'),
  );
  const many = fc.array(line, { minLength: 2, maxLength: 16 });
  const sources = new Map<bigint, string | undefined>();
  return fc.sample(many, { seed: SEED + place, numRuns: 1 }).flatMap((observations) =>
    observations.map((observation) => {
      // Which of two observers of one instant it was is known only of what changed.
      const instant = parseInstant(observation.observedAt);
      if (!sources.has(instant)) sources.set(instant, observation.source);
      return JSON.stringify({ ...observation, source: sources.get(instant) });
    }),
  );
}

/** The lines of a domain in the order of time, and an instant between its first and its last. */
function caseOf(domain: string, texts: readonly string[]) {
  const lines = timedLines(texts);
  const cut = lines[1 + Math.floor(random() * (lines.length - 1))]?.time ?? 0n;
  return { domain, lines, cut };
}

const { folder, write } = prepareFolder();
const keep = keepUntilEnd();
let inOrder: TestHome;
let cut: TestHome;
const path = (name: string) => `${folder}/${name}`;

beforeAll(async () => {
  say(`seed ${SEED} (set BACKFILL_SEED to repeat), ${CASES} cases`);
  const writeLines = (name: string, lines: readonly (readonly TimedLine[])[]) =>
    write(name, lines.flatMap((own) => own.map(({ line }) => `${line}\n`)).join(''));
  const linesOf = (isChosen: (time: bigint, cut: bigint) => boolean) =>
    cases.map(({ lines, cut: at }) => lines.filter(({ time }) => isChosen(time, at)));
  const [older, newer] = [linesOf((time, at) => time < at), linesOf((time, at) => time >= at)];
  writeLines(
    'all',
    cases.map(({ lines }) => lines),
  );
  writeLines('newer', newer);
  // In two files and in no order, but for lines of one instant, of which the first counts.
  const backwards = (lines: readonly TimedLine[]) =>
    lines.toSorted((one, other) => compareInstants(other.time, one.time));
  writeLines('older-1', older.slice(0, CASES / 2).map(backwards));
  writeLines('older-2', older.slice(CASES / 2).reverse());
  [inOrder, cut] = [keep(await createTestHome()), keep(await createTestHome())];
  expect(await runDms(['import', path('all')], inOrder.environment)).toMatchObject({ code: 0 });
  expect(await runDms(['import', path('newer')], cut.environment)).toMatchObject({ code: 0 });
  expect(await runDms(backfill(), cut.environment)).toMatchObject({ code: 0 });
});

const backfill = () => ['import', '--backfill', path('older-1'), path('older-2')];

async function exported(home: TestHome): Promise<string> {
  const { code, stdout } = await runDms(['export'], home.environment);
  expect(code).toBe(0);
  return stdout;
}

it('which changes of rotating pools, serials, nonces and error pages are routine is what an independent replay of all rules says', async () => {
  const histories = replayLines(rotating.flatMap(({ lines }) => lines.map(({ line }) => line)));
  const paths = rotating.map(({ domain }) => `${domain}/changes?first=500`);
  const reasons = new Set<unknown>();
  for (const [place, body] of await answersIn(inOrder.environment, paths)) {
    const history = histories.get(place.split('/')[0] ?? '');
    const { changes }: { changes: Record<string, unknown>[] } = JSON.parse(body);
    const told = changes.map(({ id: _id, rdata: _rdata, ...change }) => change);
    expect([place, told]).toEqual([place, history === undefined ? [] : changeItems(history)]);
    for (const { routine } of told) reasons.add(routine);
  }
  const all = 'ADDRESS_HINT ERROR_PAGE INITIAL NONCE_ONLY ROTATING SERIAL_ONLY VALIDATOR'.split(' ');
  expect([...reasons].filter(Boolean).sort()).toEqual(all);
});

it('older observations that are put before newer ones give the history of all of them recorded in order: in export, and in REST now and at instants', async () => {
  expect(await exported(cut)).toBe(await exported(inOrder));
  const then = cases.map(({ domain, lines, cut: at }, place) => {
    const around = lines[Math.floor(random() * lines.length)]?.time ?? at;
    return `${domain}?at=${formatInstant([at, at - 1n, around, around - 1n][place % 4] ?? at)}`;
  });
  const some = names.filter((_, place) => place % 5 === 0);
  const more = some.flatMap((name) => [`${name}/details`, `${name}/changes?first=500`]);
  const paths = [...names, ...then, ...more];
  const [expected, found] = [inOrder, cut].map(({ environment }) => answersIn(environment, paths));
  expect(differences((await expected) ?? new Map(), (await found) ?? new Map())).toEqual([]);
  expect(await runDms(['verify'], cut.environment)).toMatchObject({ code: 0 });
});

it('older observations change nothing when they are put before a second time', async () => {
  const before = await exported(cut);
  expect((await runDms(backfill(), cut.environment)).stdout).toMatch(/^recorded +0 /m);
  expect(await exported(cut)).toBe(before);
});

it('an import of older observations that is killed again and again ends, run once more, in the same state', async () => {
  const home = await createTestHome();
  onTestFinished(home.remove);
  expect(await runDms(['import', path('newer')], home.environment)).toMatchObject({ code: 0 });
  for (let kills = 0; kills < repeats(10, 1); kills += 1) {
    const { child, result } = startDms(backfill(), home.environment);
    await pause(300 + repeats(2_000, 1_000) * random());
    child.kill('SIGKILL');
    await result;
  }
  expect(await runDms(backfill(), home.environment)).toMatchObject({ code: 0 });
  expect(await exported(home)).toBe(await exported(inOrder));
});
