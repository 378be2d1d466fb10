/** The body of Get domain (specification, 2), byte for byte. */

import { ownFields } from './observation.js';

/** @typedef {import('./domain-history.js').DomainHistory} DomainHistory */
/** @typedef {import('./domain-history.js').Entry} Entry */
/** @typedef {import('./domain-history.js').HeaderItem} HeaderItem */

/**
 * @param {DomainHistory} history
 * @returns {string} JSON without spaces
 */
export function body(history) {
  return JSON.stringify({
    domain: history.domain,
    created: history.created,
    lastUpdate: history.lastUpdate,
    dnsRecords: [...history.entries].sort(compareEntries),
    httpHeaders: [...history.headers]
      .sort(([one], [other]) => compareValues(one, other))
      .map(([name, items]) => headerEntry(name, items)),
  });
}

/**
 * The body of Domain diff.
 *
 * @param {DomainHistory | undefined} before what the observations up to the earlier time give
 * @param {DomainHistory | undefined} after what those up to the later time give
 * @param {{ domain: string, from: string, to: string }} question
 * @returns {string} JSON without spaces
 */
export function diffBody(before, after, question) {
  const entries = [...(after?.entries ?? [])].sort(compareEntries);
  const keysOf = (/** @type {DomainHistory | undefined} */ history) =>
    new Set(
      (history?.entries ?? [])
        .filter(({ removed }) => removed === null)
        .map(({ data }) => JSON.stringify(data)),
    );
  const [old, now] = [keysOf(before), keysOf(after)];
  const headers = new Set([...(before?.present.keys() ?? []), ...(after?.present.keys() ?? [])]);
  return JSON.stringify({
    ...question,
    dnsRecordsAdded: entries.filter(
      ({ data, removed }) => removed === null && !old.has(JSON.stringify(data)),
    ),
    // Of several stays the one that was not over at the earlier time, and had begun.
    dnsRecordsRemoved: entries.filter(
      ({ data, firstSeen, removed }) =>
        firstSeen <= question.from &&
        removed !== null &&
        removed > question.from &&
        !now.has(JSON.stringify(data)),
    ),
    httpHeaders: [...headers].sort(compareValues).flatMap((name) => {
      const values = { old: before?.present.get(name) ?? null, new: after?.present.get(name) ?? null };
      if (values.old === values.new) return [];
      const difference = values.old === null ? 'ADDED' : values.new === null ? 'REMOVED' : 'CHANGED';
      return [{ name, difference, ...values }];
    }),
  });
}

/** In their order among changes of one time. */
const KINDS = [
  'DNS_RECORD_ADDED',
  'DNS_RECORD_REMOVED',
  'HEADER_CREATED',
  'HEADER_UPDATED',
  'HEADER_GONE',
  'HEADER_RETURNED',
  'SITE_STATUS_CHANGED',
];

/**
 * The items of Domain changes, the oldest first.
 *
 * @param {DomainHistory} history
 * @returns {{ kind: string, date: string }[]}
 */
export function changeItems({ changes }) {
  return [...changes]
    .sort(
      (one, other) =>
        compareValues(one.date, other.date) ||
        KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind) ||
        (one.entry && other.entry ? compareEntries(one.entry, other.entry) : 0) ||
        compareValues(one.name, other.name),
    )
    .map(({ kind, date, source, routine, entry, name, old, new: value, lastSeen }) => ({
      ...{ kind, date, source, routine },
      ...whatChanged(kind, entry, { name, old, new: value }),
      ...(lastSeen === undefined ? {} : { lastSeen }),
    }));
}

/**
 * @param {string} kind
 * @param {Entry | undefined} entry
 * @param {{ name: string | undefined, old: string | null | undefined, new: string | null | undefined }} values
 */
function whatChanged(kind, entry, values) {
  if (kind === 'SITE_STATUS_CHANGED') return { oldStatus: Number(values.old), newStatus: Number(values.new) };
  return entry === undefined ? values : { data: entry.data };
}

/**
 * @param {string} name
 * @param {HeaderItem[]} items
 */
function headerEntry(name, items) {
  const history = items.map(({ date, value }, index) => ({
    event: index === 0 ? 'created' : 'updated',
    date,
    new: value,
    old: items[index - 1]?.value ?? null,
  }));
  return { name, value: items.at(-1)?.value, history };
}

/**
 * By time, type, owner, and then the type's own fields in their order.
 *
 * @param {Entry} one
 * @param {Entry} other
 * @returns {number}
 */
function compareEntries(one, other) {
  const keys = ['type', 'host', ...ownFields(one.data['type']), 'class'];
  const differences = [
    compareValues(one.firstSeen, other.firstSeen),
    ...keys.map((key) => compareValues(one.data[key], other.data[key])),
  ];
  return differences.find((difference) => difference !== 0) ?? 0;
}

/**
 * Numbers as numbers, texts by their UTF-8 bytes, lists by their first difference, a list before its
 * longer continuation.
 *
 * @param {string | number | string[] | undefined} one
 * @param {string | number | string[] | undefined} other
 * @returns {number}
 */
function compareValues(one, other) {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (Array.isArray(one) && Array.isArray(other)) {
    const differences = one.slice(0, other.length).map((value, index) => compareValues(value, other[index]));
    return differences.find((difference) => difference !== 0) ?? one.length - other.length;
  }
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}
