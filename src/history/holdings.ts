import type { Changes } from './apply-observation.js';
import { identityOf } from './diff-records.js';
import type { HeaderState, Holdings, RecordStay } from './state.js';

/** What a domain holds after the changes of an observation. */
export function holdingsAfter(holdings: Holdings, changes: Changes): Holdings {
  return {
    records: recordsAfter(holdings.records, changes),
    headers: headersAfter(holdings.headers, changes),
  };
}

function recordsAfter(records: Holdings['records'], { added, removed }: Changes): Holdings['records'] {
  if (added.length === 0 && removed.length === 0) {
    return records;
  }
  const gone = new Set(removed.map(({ record }) => `${record.type}\n${identityOf(record)}`));
  const after = new Map<string, RecordStay[]>();
  for (const [type, stays] of records) {
    after.set(
      type,
      stays.filter(({ record }) => !gone.has(`${type}\n${identityOf(record)}`)),
    );
  }
  for (const stay of added) {
    const stays = after.get(stay.record.type);
    if (stays === undefined) {
      after.set(stay.record.type, [stay]);
    } else {
      stays.push(stay);
    }
  }
  return after;
}

function headersAfter(headers: Holdings['headers'], changes: Changes): Holdings['headers'] {
  if (changes.headers.length === 0) {
    return headers;
  }
  const after = new Map<string, HeaderState>(headers);
  for (const { name, kind, value } of changes.headers) {
    after.set(name, { value: value ?? headers.get(name)?.value ?? '', present: kind !== 'gone' });
  }
  return after;
}
