import { typeNumber } from '../../src/model/dns-types.js';
import { MasterText } from '../../src/model/master-text.js';
import { rdataOctets } from '../../src/model/rdata-text.js';
import { nameKey, nameOctets } from './dns-octets.js';

/** A record as a zone holds it and a message carries it. */
export interface ZoneRecord {
  /** In full. */
  readonly owner: Buffer;
  readonly type: number;
  readonly ttl: number;
  readonly rdata: Buffer;
}

export type ZoneNode = ReadonlyMap<number, readonly ZoneRecord[]>;

/** The names of one or more zones by their keys (dns-octets.ts). */
export type ZoneNodes = ReadonlyMap<string, ZoneNode>;

const TOKEN = /(;[^\n]*)|(\n)|([()])|((?:"(?:[^"\\]|\\.)*"|\\.|[^\s"();\\])+)|[^\S\n]+/gs;

/** A logical line: what stands between parentheses belongs to it, newlines too. */
interface Entry {
  /** The line begins with white space: its record has the owner of the record before. */
  readonly isIndented: boolean;
  readonly texts: string[];
}

/**
 * The records of a master file (RFC 1035, section 5): $ORIGIN, $TTL (seconds), `@`, relative names,
 * comments, quoted strings, parentheses, and RFC 3597's form for types and rdata. Class IN only. The file
 * may hold several zones. What it cannot read it throws an Error for.
 */
export function parseZoneFile(text: string): ZoneNodes {
  const nodes = new Map<string, Map<number, ZoneRecord[]>>();
  const reader = new EntryReader();
  for (const entry of entriesOf(text)) {
    const record = reader.read(entry);
    if (record === undefined) continue;
    const key = nameKey(record.owner);
    const node = nodes.get(key) ?? new Map<number, ZoneRecord[]>();
    nodes.set(key, node.set(record.type, [...(node.get(record.type) ?? []), record]));
  }
  return nodes;
}

function entriesOf(text: string): Entry[] {
  const entries: Entry[] = [];
  let depth = 0;
  let entry: Entry = { isIndented: /^[ \t]/.test(text), texts: [] };
  for (const found of text.matchAll(TOKEN)) {
    const [, , newline, parenthesis, token] = found;
    if (token !== undefined) entry.texts.push(token);
    if (parenthesis !== undefined) depth += parenthesis === '(' ? 1 : -1;
    if (newline === undefined || depth > 0) continue;
    entries.push(entry);
    entry = { isIndented: /[ \t]/.test(text.charAt(found.index + 1)), texts: [] };
  }
  return [...entries, entry].filter(({ texts }) => texts.length > 0);
}

/** Keeps what one line of a master file takes from those before. */
class EntryReader {
  #origin = '.';
  #ttl = 3600;
  #owner = '.';

  read({ isIndented, texts }: Entry): ZoneRecord | undefined {
    const [first = '', second = ''] = texts;
    if (first === '$ORIGIN') this.#origin = this.#absolute(second);
    else if (first === '$TTL') this.#ttl = Number(second);
    else return this.#record(isIndented, texts);
    return undefined;
  }

  #record(isIndented: boolean, texts: readonly string[]): ZoneRecord {
    const rest = [...texts];
    if (!isIndented) this.#owner = this.#absolute(rest.shift() ?? '@');
    let ttl = this.#ttl;
    for (; /^(?:\d+|IN)$/i.test(rest[0] ?? ''); rest.shift()) {
      if (/^\d/.test(rest[0] ?? '')) ttl = Number(rest[0]);
    }
    const type = (rest.shift() ?? '').toUpperCase();
    const number = typeNumber(type);
    if (number === undefined) throw new Error(`${texts.join(' ')}: ${type} is no type.`);
    const rdata = rdataOctets(type, new MasterText(rest.join(' '), (name) => this.#absolute(name)));
    return { owner: nameOctets(this.#owner), type: number, ttl, rdata };
  }

  #absolute(name: string): string {
    if (name === '@') return this.#origin;
    if (/(?:^|[^\\])\.$/.test(name)) return name;
    return this.#origin === '.' ? `${name}.` : `${name}.${this.#origin}`;
  }
}
