import { compareInstants, type Instant } from '../model/instant.js';
import type { RecordStay } from './state.js';
import type { StoredHistory } from './stored-history.js';

/** A domain's records and headers, as they were at a time that only goes forward. */
export class Timeline {
  private readonly beginning: readonly RecordStay[];
  private readonly ending: readonly RecordStay[];
  private readonly changes: StoredHistory['headers'];
  private readonly open = new Map<string, Set<RecordStay>>();
  private readonly held = new Map<string, { value: string; present: boolean }>();
  private readonly next = { beginning: 0, ending: 0, change: 0 };

  constructor({ stays, headers }: StoredHistory) {
    this.beginning = stays;
    this.ending = stays
      .filter(({ removal }) => removal !== null)
      .sort((left, right) => compareInstants(left.removal?.removed ?? 0n, right.removal?.removed ?? 0n));
    this.changes = [...headers].sort((left, right) => compareInstants(left.observedAt, right.observedAt));
  }

  advanceTo(time: Instant): void {
    for (; (this.beginning[this.next.beginning]?.firstSeen ?? time + 1n) <= time; this.next.beginning += 1) {
      this.begin(this.beginning[this.next.beginning]);
    }
    for (; (this.ending[this.next.ending]?.removal?.removed ?? time + 1n) <= time; this.next.ending += 1) {
      const stay = this.ending[this.next.ending];
      if (stay !== undefined) {
        this.open.get(stay.record.type)?.delete(stay);
      }
    }
    for (; (this.changes[this.next.change]?.observedAt ?? time + 1n) <= time; this.next.change += 1) {
      this.change(this.changes[this.next.change]);
    }
  }

  /** The records present, of the given types or of all. */
  present(types: ReadonlySet<string> | null): RecordStay[] {
    return [...(types ?? this.open.keys())].sort().flatMap((type) => [...(this.open.get(type) ?? [])]);
  }

  headers(): Map<string, string> {
    const present = [...this.held].filter(([, header]) => header.present);
    return new Map(present.map(([name, { value }]) => [name, value]));
  }

  private begin(stay: RecordStay | undefined): void {
    if (stay !== undefined) {
      const open = this.open.get(stay.record.type) ?? new Set();
      this.open.set(stay.record.type, open.add(stay));
    }
  }

  private change(change: StoredHistory['headers'][number] | undefined): void {
    if (change !== undefined) {
      const { name, value, present } = change;
      this.held.set(name, { value: value ?? this.held.get(name)?.value ?? '', present });
    }
  }
}
