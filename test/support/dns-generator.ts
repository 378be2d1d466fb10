import { typeNumber } from '../../src/model/dns-types.js';
import { MasterText } from '../../src/model/master-text.js';
import { rdataOctets } from '../../src/model/rdata-text.js';
import { type DnsQuery, FLAGS, type ResponseParts } from './dns-message.js';
import type { ZoneRecord } from './dns-zone-file.js';

/**
 * Makes answers for names without number. The texts are rdata as master files have it, names in them
 * absolute, and their owner is the name asked; none: there are no such records; null: there is no such
 * name; undefined: the zone answers.
 *
 * @param name Lower case, without its final dot; dots and backslashes in labels escaped.
 */
export type Generator = (name: string, type: string) => readonly string[] | null | undefined;

const SOA = 6;
const NXDOMAIN = 3;
const MOST_KEPT = 10_000;
const encoded = new Map<string, Buffer>();

/** The parts of the answer to a query, from what a Generator has given for it. */
export function generatedParts(
  query: DnsQuery,
  type: string,
  texts: readonly string[] | null,
): ResponseParts {
  const owner = Buffer.from(query.name);
  const answers = (texts ?? []).map((text) => record(owner, type, text));
  const soa = record(owner, 'SOA', 'ns.invalid. hostmaster.invalid. 1 7200 900 1209600 300');
  const authorities = answers.length === 0 ? [soa] : [];
  return { rcode: texts === null ? NXDOMAIN : 0, flags: FLAGS.AA, answers, authorities };
}

function record(owner: Buffer, type: string, text: string): ZoneRecord {
  return { owner, type: typeNumber(type) ?? SOA, ttl: 300, rdata: rdataOf(type, text) };
}

function rdataOf(type: string, text: string): Buffer {
  const key = `${type} ${text}`;
  const known = encoded.get(key);
  if (known !== undefined) return known;
  const rdata = rdataOctets(type, new MasterText(text));
  if (encoded.size >= MOST_KEPT) encoded.clear();
  encoded.set(key, rdata);
  return rdata;
}
