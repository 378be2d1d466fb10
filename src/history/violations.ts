import { attempt } from '../model/attempt.js';
import { isCanonicalRecord } from '../model/dns-record.js';
import { canonicalType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { canonicalFieldName, canonicalFieldValue } from '../model/header-fields.js';
import { canonicalIp } from '../model/ip-address.js';
import { parseSourceName, quoted } from '../model/text.js';
import { extendHistory } from './extend-history.js';
import { earlierText, factsText, headerText, type ItemText, responseText, stayText } from './history-text.js';
import { OTHER_TYPES } from './state.js';
import type { History, StoredHistory } from './stored-history.js';

/**
 * Finds what breaks the rules in a domain's stored history: one line for each violation. Values have to be in
 * canonical form, and all else what the rules make of the observations that the history tells of: they are
 * applied again, and what they make is compared. What one row can tell is held by constraints of the database.
 */
export function findViolations(history: StoredHistory): string[] {
  const invalid = [
    ...invalidTexts(history),
    ...history.stays.filter(({ record }) => !isCanonicalRecord(record)).map((stay) => stayText(stay)[0]),
  ].map((what) => `${what} is not in canonical form`);
  if (invalid.length > 0) return invalid;
  const replayed = attempt(() => extendHistory(history, [], { older: true }));
  if (replayed === undefined) return ['what is stored tells of no observation'];
  const responses = expectedResponses(replayed.responses, history.responses);
  return [...differences(itemsOf(history), new Map(itemsOf({ ...replayed, responses })))];
}

/**
 * Observations of one time by one observer are replayed as one. So what is replayed has a response at the time
 * of each change, and what is stored only where it was of the same observation. Each with another scheme or
 * status is stored.
 */
function expectedResponses(replayed: Responses, stored: Responses): Responses {
  const times = new Set(stored.map(({ observedAt }) => observedAt));
  return replayed.filter(({ observedAt, scheme, status }, at) => {
    const before = replayed[at - 1];
    return times.has(observedAt) || before?.scheme !== scheme || before.status !== status;
  });
}

type Responses = StoredHistory['responses'];

function invalidTexts({ name, state, stays, headers, responses }: StoredHistory): string[] {
  const invalid: string[] = [];
  const check = (what: string, text: string | null | undefined, toCanonical: (text: string) => unknown) => {
    if (text == null || text === OTHER_TYPES || attempt(() => toCanonical(text)) === text) return;
    invalid.push(`${what} ${quoted(text)}`);
  };
  check('the name', name, parseDomainName);
  for (const type of state.types.keys()) check('the type', type, canonicalType);
  for (const source of stays.flatMap((stay) => [stay.source, stay.removal?.source])) {
    check('the source of a record', source, parseSourceName);
  }
  for (const { name, value, source } of headers) {
    check('the header name', name, canonicalFieldName);
    check(`a value of the header ${quoted(name)}`, value, canonicalFieldValue);
    check('the source of a header', source, parseSourceName);
  }
  for (const { address, source } of responses) {
    check('the address of a response', address, canonicalIp);
    check('the source of a response', source, parseSourceName);
  }
  return invalid;
}

/** What is compared: not HTTPS, of which a history tells the latest state alone. */
function itemsOf({ state, stays, headers, responses, earlier }: History): ItemText[] {
  const { types, https: _, ...others } = state;
  return [
    ...Object.entries(others).map(([key, value]): ItemText => [key, factsText(value)]),
    ...Array.from(types, ([type, facts]): ItemText => [`the type ${quoted(type)}`, factsText(facts)]),
    ...stays.map(stayText),
    ...headers.map(headerText),
    ...responses.map(responseText),
    ...earlier.map(earlierText),
  ];
}

function* differences(stored: readonly ItemText[], expected: Map<string, string>): Generator<string> {
  for (const [name, facts] of stored) {
    const given = expected.get(name);
    expected.delete(name);
    if (given === undefined) yield `${name} is stored, and the observations do not give it`;
    else if (given !== facts) yield `${name} is ${facts}; the observations give ${given}`;
  }
  for (const [name, facts] of expected) yield `${name} is not stored; the observations give ${facts}`;
}
