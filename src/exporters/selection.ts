import type { Instant } from '../model/instant.js';

/** What of a history is written. */
export interface Selection {
  /** What was known at that instant; absent: everything. */
  readonly at?: Instant | undefined;
  /** Only records of these types, and no headers; absent: all. */
  readonly types?: ReadonlySet<string> | undefined;
  /** Only what was present at the instant, or is present. */
  readonly present?: boolean;
}

/** Whether a stay, or the time in which a header had a value, is selected. */
export function isSelected(
  { types, present = false }: Selection,
  { type, removed }: { readonly type: string | null; readonly removed: Instant | null },
): boolean {
  return (types === undefined || (type !== null && types.has(type))) && (!present || removed === null);
}
