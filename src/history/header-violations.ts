import { canonicalFieldName, canonicalFieldValue } from '../model/header-fields.js';
import { parseSourceName } from '../model/text.js';
import { digestOfHeaders, unseenOf } from './digest.js';
import type { HeaderState } from './state.js';
import type { StoredHeaderChange, StoredHistory } from './stored-history.js';
import { canonicalOrNull, timeText } from './violation-text.js';

/**
 * Finds what breaks the rules in the changes of a domain's headers.
 *
 * @returns one line for each breach.
 */
export function* findHeaderViolations({ state, headers }: StoredHistory): Generator<string> {
  const held = new Map<string, HeaderState>();
  for (const change of headers) {
    const before = held.get(change.name);
    for (const breach of [...breachesOfForm(change), ...breachesOfOrder(change, before)]) {
      yield `header ${JSON.stringify(change.name)} at ${timeText(change.observedAt)}: ${breach}`;
    }
    const { http } = state;
    if (http === null || change.observedAt < http.first || change.observedAt > http.latest) {
      yield `header ${JSON.stringify(change.name)} changed outside the observations of HTTP`;
    }
    held.set(change.name, { value: change.value ?? before?.value ?? '', present: change.present });
  }
  const present = [...held].filter(([, header]) => header.present);
  const known = state.http?.digest ?? '';
  const values = new Map(present.map(([name, { value }]) => [name, value]));
  if (digestOfHeaders(values, new Set(unseenOf(known))) !== known) {
    yield 'the digest of the headers is not that of the present ones';
  }
}

function* breachesOfForm({ name, value, present, source }: StoredHeaderChange): Generator<string> {
  if (canonicalOrNull(() => canonicalFieldName(name)) !== name) {
    yield 'its name is not in canonical form';
  }
  if (value !== null && canonicalOrNull(() => canonicalFieldValue(value)) !== value) {
    yield 'its value is not in canonical form';
  }
  if (value !== null && !present) {
    yield 'it went, and has a value all the same';
  }
  if (source !== null && canonicalOrNull(() => parseSourceName(source)) !== source) {
    yield 'its source is not 1 to 64 printable characters';
  }
}

function* breachesOfOrder(
  { value, present }: StoredHeaderChange,
  before: HeaderState | undefined,
): Generator<string> {
  if (before === undefined) {
    if (value === null) yield 'its history does not begin with a value';
  } else if (value !== null) {
    if (value === before.value) yield 'the new value is the old one';
  } else if (present === before.present) {
    yield 'it went or came back twice in a row';
  }
}
