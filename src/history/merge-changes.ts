import type { Changes } from './apply-observation.js';
import type { EarlierChanges } from './routine.js';
import { partKey, type RecordStay } from './state.js';

/**
 * Joins the changes of a domain's observations, so that each stay is written once: one that ended as well is in
 * `added`.
 */
export function mergeChanges(changes: readonly Changes[]): Changes {
  const [only] = changes;
  if (only !== undefined && changes.length === 1) return only;
  const added = new Map<string, RecordStay>();
  const removed: RecordStay[] = [];
  const earlier = new Map<string, EarlierChanges>();
  for (const change of changes) {
    for (const each of change.earlier) earlier.set(partKey(each.type, each.name), each);
    for (const stay of change.removed) {
      const key = keyOf(stay);
      if (added.has(key)) added.set(key, stay);
      else removed.push(stay);
    }
    for (const stay of change.added) added.set(keyOf(stay), stay);
  }
  return {
    added: [...added.values()],
    removed,
    headers: changes.flatMap(({ headers }) => headers),
    responses: changes.flatMap(({ responses }) => responses),
    earlier: [...earlier.values()],
  };
}

function keyOf({ firstSeen, position, record }: RecordStay): string {
  return `${firstSeen} ${position} ${record.type}`;
}
