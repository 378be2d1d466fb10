import { expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../../../src/config/env.js';
import type { Changes } from '../../../src/history/apply-observation.js';
import {
  heldAfter,
  type RecordedObservations,
  recordObservations,
  UNRECORDED,
} from '../../../src/history/record-observations.js';
import type { DnsRecord } from '../../../src/model/dns-record.js';
import type { DnsAnswer, FailedAnswer } from '../../../src/observer/dns/answer.js';
import { createDnsClient, type DnsClient } from '../../../src/observer/dns/client.js';
import type { HttpClient } from '../../../src/observer/http/client.js';
import { createDomainObserver } from '../../../src/observer/observe-domain.js';
import type { TestQuestion } from '../../support/dns-behaviours.js';
import { type DnsTestServer, startDnsServer } from '../../support/dns-server.js';
import { repeats } from '../../support/long-form.js';
import { judge, judgeReply, type Verdict } from './evidence-judge.js';
import { ASKED, goodReply, makeReply, NAMES, seeded } from './evidence-replies.js';

/** `npm test` sends some; EVIDENCE_REPLIES=500000 sends more. */
const REPLIES = Number(process.env['EVIDENCE_REPLIES'] ?? repeats(50_000, 2000));
const SEED = Number(process.env['EVIDENCE_SEED'] ?? Date.now() % 1_000_000);

const TYPES = [...ASKED.keys()];
const AT_ONCE = 24;

/** In milliseconds. The wait after an invalid reply; a good one that comes later is queried again. */
const SHORT = 250;
const PATIENT = 10_000;

/** No site is requested: the addresses in the replies may be in use. */
const NO_SITE: HttpClient = {
  observe: async () => ({ kind: 'failed', failure: { code: 'unreachable', message: 'no site' } }),
};

const LATE: Verdict = { kind: 'none', why: 'the replies came too late', aliases: [] };
/** The client reads every record of a message, and takes nothing from one that is malformed. */
const MALFORMED: Verdict = { kind: 'none', why: 'a record is malformed', aliases: [] };

const tally = {
  ...{ replies: 0, questions: 0, evidence: 0, both: 0, neither: 0, clientOnly: 0, judgeOnly: 0 },
  /** Rejected by the client, since a record that proves nothing is malformed; the judge reads only what proves. */
  malformed: 0,
  ...{ removed: 0, added: 0, aliases: 0 },
};
const findings: string[] = [];

/** One server and its clients, which check one name at a time. */
class Desk {
  readonly #server: DnsTestServer;
  readonly #hasty: DnsClient;
  readonly #patient: DnsClient;
  /** What was sent to each question of the current check, but for replies with another id. */
  readonly #sent = new Map<string, Buffer[]>();
  /** Of the current check. */
  #answers: ReadonlyMap<string, DnsAnswer> = new Map();
  /** Undefined: all is well. */
  #seed: number | undefined;
  #time = 1_700_000_000_000_000n;

  constructor(server: DnsTestServer) {
    this.#server = server;
    this.#hasty = createDnsClient({ servers: [server], timeout: SHORT, tries: 2, queriesPerServer: 100 });
    this.#patient = createDnsClient({
      servers: [server],
      timeout: PATIENT,
      tries: 2,
      queriesPerServer: 100,
    });
    server.behave('*', (question) => ({ messages: [this.#reply(question)] }));
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  /** What is known of a name once it was checked while all was well. */
  async known(name: string): Promise<RecordedObservations> {
    this.#seed = undefined;
    const check = await this.#check(name, this.#patient);
    if (check.observation === null) throw new Error('the good zone was not observed');
    // Before every other check, whichever comes first.
    const observedAt = 1_600_000_000_000_000n;
    return recordObservations(UNRECORDED, [{ ...check.observation, observedAt }]);
  }

  /** Checks a name whose server sends replies of a seed, and compares what comes of it with the judge. */
  async play(name: string, known: RecordedObservations, seed: number): Promise<void> {
    this.#seed = seed;
    this.#sent.clear();
    const { observation } = await this.#check(name, this.#hasty);
    const shown = new Set(TYPES.flatMap((type) => this.#shown(name, type)).map(key));
    const verdicts = new Map<string, Verdict>();
    for (const [type, answer] of this.#answers) {
      const verdict = this.#verdict(name, type);
      const isMalformed = answer.kind === 'failed' && answer.failure.code === 'malformed';
      // On a busy machine a reply may come too late; then it is queried again.
      const isLate =
        answer.kind === 'failed' && !fits(answer, verdict) && !(isMalformed && verdict.kind !== 'evidence');
      verdicts.set(
        type,
        isLate ? this.#verdictInTime(name, type, answer) : isMalformed ? MALFORMED : verdict,
      );
      if (isLate && verdict.kind !== 'none') await this.#askAgain(name, type, seed);
      else this.#compare(name, type, seed, answer, verdict);
    }
    if (observation === null) return;
    const { state } = known;
    const progress = recordObservations({ state, holdings: heldAfter(known) }, [observation]);
    const check = `check ${seed}: ${name}`;
    for (const changes of progress.changes) checkChanges(check, changes, verdicts, shown);
    checkShown(check, progress, verdicts);
  }

  async #askAgain(name: string, type: string, seed: number): Promise<void> {
    this.#sent.delete(type);
    const answer = (await this.#patient.query(name, [type])).get(type);
    if (answer !== undefined) this.#compare(name, type, seed, answer, this.#verdict(name, type));
  }

  #check(name: string, client: DnsClient) {
    // The answers as the client gives them: the observer joins their chains.
    const query: DnsClient['query'] = async (...question) => {
      this.#answers = await client.query(...question);
      return this.#answers;
    };
    const dns = { query };
    const now = () => {
      this.#time += 1_000_000n;
      return this.#time;
    };
    const options = {
      dns,
      http: NO_SITE,
      types: TYPES,
      ignoredHeaders: new Set<string>(),
      limits: readSettings({}).limits,
      now,
      source: 'test',
    };
    return createDomainObserver(options).check(name);
  }

  /** The second reply to a question mostly is the first again, and sometimes another where the first proves nothing. */
  #reply({ name, type, query }: TestQuestion): Buffer {
    const number = query.type;
    if (this.#seed === undefined) return goodReply(name, number, query.question, query.id);
    const sent = this.#sent.get(type) ?? [];
    this.#sent.set(type, sent);
    const random = seeded(this.#seed * 512 + number);
    const seeds = [random(2 ** 31), random(2 ** 31)];
    const [first] = sent;
    const mayDiffer = first !== undefined && judgeReply({ name, type: number }, first).kind !== 'evidence';
    const seed = (mayDiffer && random(3) === 0 ? seeds[1] : seeds[0]) ?? 0;
    const { octets, hasId } = makeReply(name, number, seed, query.question, query.id);
    tally.replies += 1;
    if (hasId) sent.push(octets);
    return octets;
  }

  #verdict(name: string, type: string): Verdict {
    return judge({ name, type: ASKED.get(type) ?? 0 }, this.#sent.get(type) ?? []);
  }

  /** What the replies before those prove that are late, or none to this question: the client fails with what they show. */
  #verdictInTime(name: string, type: string, answer: FailedAnswer): Verdict {
    const sent = this.#sent.get(type) ?? [];
    for (let count = sent.length - 1; count >= 0; count -= 1) {
      const verdict = judge({ name, type: ASKED.get(type) ?? 0 }, sent.slice(0, count));
      if (fits(answer, verdict)) return verdict;
    }
    return LATE;
  }

  /** All that any of the replies to a question shows. */
  #shown(name: string, type: string): DnsRecord[] {
    const question = { name, type: ASKED.get(type) ?? 0 };
    return (this.#sent.get(type) ?? []).flatMap((reply) => shownBy(judgeReply(question, reply)));
  }

  #compare(name: string, type: string, seed: number, answer: DnsAnswer, verdict: Verdict): void {
    tally.questions += 1;
    tally.evidence += Number(verdict.kind === 'evidence');
    const outcome = outcomeOf(answer, verdict);
    tally[outcome] += 1;
    const client = answer.kind === 'failed' ? answer.failure.message : textOf(answer.records);
    const judged = verdict.kind === 'evidence' ? textOf(verdict.records) : 'why' in verdict && verdict.why;
    const isFine =
      outcome === 'malformed' ||
      (outcome === 'both' && agree(answer, verdict)) ||
      (outcome === 'neither' && this.#agreeOnLinks(name, type, answer, verdict));
    if (!isFine) this.#find(`client: ${client}; judge: ${judged}`, type, seed);
  }

  /** A chain that is incomplete is taken by both, or by none. */
  #agreeOnLinks(name: string, type: string, answer: DnsAnswer, verdict: Verdict): boolean {
    if (answer.kind !== 'failed' || answer.failure.code === 'malformed' || fits(answer, verdict)) return true;
    return this.#verdictInTime(name, type, answer) !== LATE;
  }

  #find(what: string, type: string, seed: number): void {
    const sent = (this.#sent.get(type) ?? []).map((octets) => octets.toString('hex'));
    findings.push([what, type, `check ${seed}`, ...sent].join('\n'));
  }
}

function outcomeOf(answer: DnsAnswer, { kind }: Verdict) {
  if (answer.kind === 'answered') return kind === 'evidence' ? 'both' : 'clientOnly';
  if (kind !== 'evidence') return 'neither';
  return answer.failure.code === 'malformed' ? 'malformed' : 'judgeOnly';
}

/** Whether a failed answer has the links that the replies show. */
function fits({ aliases = [] }: FailedAnswer, verdict: Verdict): boolean {
  if (verdict.kind === 'evidence') return false;
  return textOf(aliases) === textOf(verdict.kind === 'none' ? [] : verdict.aliases);
}

function agree(answer: DnsAnswer, verdict: Verdict): boolean {
  if (answer.kind === 'failed' || verdict.kind !== 'evidence') return false;
  return answer.nameExists === verdict.nameExists && textOf(answer.records) === textOf(verdict.records);
}

const key = ({ host, type, rdata }: DnsRecord) => `${host} ${type} ${rdata}`;
const textOf = (records: readonly DnsRecord[]) => [...new Set(records.map(key))].sort().join('; ');

/** What a reply shows: what it proves, and the links of its chain. */
function shownBy({ aliases, ...verdict }: Verdict): readonly DnsRecord[] {
  return verdict.kind === 'evidence' ? [...aliases, ...verdict.records] : aliases;
}

const isLink = ({ type }: DnsRecord) => type === 'CNAME' || type === 'DNAME';

/** Nothing is added that no reply shows, and nothing removed but by evidence. */
function checkChanges(
  check: string,
  { added, removed }: Changes,
  verdicts: ReadonlyMap<string, Verdict>,
  shown: ReadonlySet<string>,
) {
  for (const { record } of added) {
    tally.added += 1;
    if (!shown.has(key(record))) findings.push(`${check} added ${key(record)}`);
  }
  for (const { record } of removed) {
    tally.removed += 1;
    const own = verdicts.get(record.type);
    const isGone = isLink(record) ? isLinkGone(record, verdicts) : own?.kind === 'evidence';
    if (!isGone) findings.push(`${check} removed ${key(record)}`);
  }
}

/**
 * A link is gone where a chain shows another one of its owner, where a chain comes to its end without it, or where
 * the question for CNAME, or the records of the name, say that there is none at all.
 */
function isLinkGone(record: DnsRecord, verdicts: ReadonlyMap<string, Verdict>): boolean {
  const counted = [...verdicts].filter(([, { kind }]) => kind !== 'none');
  const shown = counted.flatMap(([, verdict]) => shownBy(verdict)).filter(isLink);
  if (shown.some((one) => key(one) === key(record))) return false;
  if (shown.some(({ host, type }) => host === record.host && type === record.type)) return true;
  return counted.some(([type, verdict]) => {
    if (verdict.kind !== 'evidence') return false;
    // The question for the very type was answered: there is none.
    if (type === 'CNAME' || type === record.type) return !shown.some((one) => one.type === type);
    return verdict.aliases.length > 0 || verdict.records.length > 0;
  });
}

/** The links of complete and of incomplete chains are present afterwards. */
function checkShown(check: string, progress: RecordedObservations, verdicts: ReadonlyMap<string, Verdict>) {
  for (const [type, { kind, aliases }] of verdicts) {
    if (kind === 'none') continue;
    for (const link of aliases) {
      tally.aliases += 1;
      const present = heldAfter(progress)
        .records.get(link.type)
        ?.some(({ record }) => key(record) === key(link));
      if (present !== true) findings.push(`${check} does not show ${key(link)} of its ${kind} ${type}`);
    }
  }
}

function report(): string {
  const kinds = new Map<string, number>();
  for (const finding of findings) {
    const kind = finding.replace(/^check \d+: /, '').split('\n')[0] ?? '';
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return [
    `seed ${SEED} (set EVIDENCE_SEED to repeat): ${tally.replies} replies to ${tally.questions} questions`,
    `judged evidence: ${tally.evidence}, taken by both: ${tally.both}, by neither: ${tally.neither}`,
    `taken by the client only: ${tally.clientOnly}, by the judge only: ${tally.judgeOnly}, but for what is malformed: ${tally.malformed}`,
    `records removed: ${tally.removed}, added: ${tally.added}; links of chains shown: ${tally.aliases}`,
    ...[...kinds].map(([kind, count]) => `${count} times ${kind}`).slice(0, 30),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

test(
  'replies that are nearly right remove nothing, unless a plain judge says that they prove it, and add nothing that it does not see',
  async () => {
    const desks = await Promise.all(
      Array.from({ length: AT_ONCE }, async () => new Desk(await startDnsServer())),
    );
    onTestFinished(() => Promise.all(desks.map((desk) => desk.close())).then(() => undefined));
    const [first] = desks;
    const known = await Promise.all(NAMES.map(async (name) => [name, await first?.known(name)] as const));
    let check = SEED * 1000;
    let isOver = false;
    onTestFinished(() => {
      isOver = true;
    });
    const play = async (desk: Desk) => {
      while (tally.replies < REPLIES && !isOver) {
        check += 1;
        const [name, progress] = known[check % known.length] ?? [];
        if (name !== undefined && progress !== undefined) await desk.play(name, progress, check);
      }
    };
    await Promise.all(desks.map(play));
    process.stdout.write(report());
    expect(findings.slice(0, 5)).toEqual([]);
  },
  60_000 + REPLIES * 20,
);
