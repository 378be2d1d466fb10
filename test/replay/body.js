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
