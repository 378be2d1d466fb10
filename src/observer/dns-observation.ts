import { type DnsRecord, recordsByType } from '../model/dns-record.js';
import { ancestorsOf } from '../model/host-name.js';
import type { DnsObservation } from '../model/observation.js';
import { parseRdata } from '../model/rdata-values.js';
import type { DnsAnswer } from './dns/answer.js';

export interface JoinedAnswers {
  /** Those for CNAME and DNAME include every alias that led to the records of the other types. */
  readonly dns: ReadonlyMap<string, DnsAnswer>;
  /** See DnsObservation. */
  readonly observedOwners: ReadonlyMap<string, ReadonlySet<string>>;
}

type Answered = Extract<DnsAnswer, { kind: 'answered' }>;

/** The answers for other types than CNAME and DNAME show the aliases on their way. */
export function joinAnswers(domain: string, answers: ReadonlyMap<string, DnsAnswer>): JoinedAnswers {
  const own = ['CNAME', 'DNAME'].flatMap((type) => recordsOf(answers.get(type)));
  const found = recordsByType([...own, ...[...answers.values()].flatMap(({ aliases = [] }) => aliases)]);
  const complete = completeChains(answers);
  const [dns, observedOwners] = [new Map(answers), new Map<string, ReadonlySet<string>>()];
  for (const type of ['CNAME', 'DNAME']) {
    const records = found.get(type);
    if (records === undefined) continue;
    dns.set(type, { kind: 'answered', nameExists: true, records, aliases: [] });
    if (complete.length === 0) observedOwners.set(type, new Set(records.map(({ host }) => host)));
  }
  // The names below a DNAME show it, whether it was queried or not; of those at and below the domain nothing is known.
  if (!answers.has('DNAME') && complete.length > 0) {
    const names = [domain, ...complete.flatMap(({ aliases }) => aliases.map(targetOf))];
    observedOwners.set('DNAME', new Set(names.flatMap(ancestorsOf)));
  }
  return { dns, observedOwners };
}

/**
 * The answers that show a chain of aliases to its end, or that there is none: those with aliases or records. The
 * answer for CNAME alone does not show where the CNAME leads, and one without that CNAME does not count.
 */
function completeChains(answers: ReadonlyMap<string, DnsAnswer>): Answered[] {
  const own = recordsOf(answers.get('CNAME')).map(textOf);
  return [...answers].flatMap(([type, answer]) => {
    if (answer.kind === 'failed' || type === 'CNAME') return [];
    const links = new Set(answer.aliases.map(textOf));
    const isChain = own.every((link) => links.has(link)) && links.size + answer.records.length > 0;
    return isChain ? [answer] : [];
  });
}

function recordsOf(answer: DnsAnswer | undefined): readonly DnsRecord[] {
  return answer?.kind === 'answered' ? answer.records : [];
}

function textOf({ type, host, rdata }: DnsRecord): string {
  return `${type} ${host} ${rdata}`;
}

function targetOf({ rdata }: DnsRecord): string {
  const { target, data } = parseRdata(rdata);
  return String(target ?? data);
}

/** What there is to record of the answers; null: no type was answered. Types without an answer keep their records. */
export function dnsObservation({ dns, observedOwners }: JoinedAnswers): DnsObservation | null {
  const answered = [...dns].filter(([, { kind }]) => kind === 'answered');
  if (answered.length === 0) return null;
  const types = new Set(answered.map(([type]) => type));
  // Not those of a type whose answer has too many records.
  const owners = new Map([...observedOwners].filter(([type]) => types.has(type) || !dns.has(type)));
  const records = recordsByType(answered.flatMap(([, answer]) => recordsOf(answer)));
  return owners.size === 0 ? { types, records } : { types, observedOwners: owners, records };
}
