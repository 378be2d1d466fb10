/** Something that can be stopped. */
export interface Stoppable {
  stop(): void;
}

/** What one signal stops, with the one listener that does it. */
interface Group {
  readonly members: Set<Stoppable>;
  readonly listener: () => void;
}

/**
 * Stops things by the signals of their callers. A signal has one listener however many things it stops:
 * hundreds of them on one signal look like a leak to Node.js, which warns.
 */
export class SignalGroups {
  readonly #groups = new Map<AbortSignal, Group>();

  /** Stops it when the signal is aborted; delete() must follow. */
  add(signal: AbortSignal, member: Stoppable): void {
    const group = this.#groups.get(signal) ?? this.#createGroup(signal);
    group.members.add(member);
    if (signal.aborted) member.stop();
  }

  /** Forgets it. */
  delete(signal: AbortSignal, member: Stoppable): void {
    const group = this.#groups.get(signal);
    group?.members.delete(member);
    if (group === undefined || group.members.size > 0) return;
    signal.removeEventListener('abort', group.listener);
    this.#groups.delete(signal);
  }

  #createGroup(signal: AbortSignal): Group {
    const members = new Set<Stoppable>();
    const listener = () => {
      for (const member of members) member.stop();
    };
    const group = { members, listener };
    this.#groups.set(signal, group);
    signal.addEventListener('abort', listener);
    return group;
  }
}
