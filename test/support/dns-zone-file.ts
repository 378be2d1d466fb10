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
  // What one line takes from those before.
  let [origin, ttl, owner] = ['.', 3600, '.'];
  const absolute = (name: string): string => {
    if (name === '@') return origin;
    if (/(?:^|[^\\])\.$/.test(name)) return name;
    return origin === '.' ? `${name}.` : `${name}.${origin}`;
  };
  const add = (isIndented: boolean, [...rest]: readonly string[]): void => {
    if (!isIndented) owner = absolute(rest.shift() ?? '@');
    let ownTtl = ttl;
    for (; /^(?:\d+|IN)$/i.test(rest[0] ?? ''); rest.shift()) {
      if (/^\d/.test(rest[0] ?? '')) ownTtl = Number(rest[0]);
    }
    const name = (rest.shift() ?? '').toUpperCase();
    const type = typeNumber(name);
    if (type === undefined) throw new Error(`${name} is no type.`);
    const rdata = rdataOctets(name, new MasterText(rest.join(' '), absolute));
    const record = { owner: nameOctets(owner), type, ttl: ownTtl, rdata };
    const key = nameKey(record.owner);
    const node = nodes.get(key) ?? new Map<number, ZoneRecord[]>();
    nodes.set(key, node.set(type, [...(node.get(type) ?? []), record]));
  };
  for (const { isIndented, texts } of entriesOf(text)) {
    const [first, second = ''] = texts;
    if (first === '$ORIGIN') origin = absolute(second);
    else if (first === '$TTL') ttl = Number(second);
    else add(isIndented, texts);
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
