import { canonicalHostName } from '../../model/host-name.js';

/** A CNAME or DNAME record of an answer section. */
export interface Alias {
  readonly owner: string;
  readonly type: 'CNAME' | 'DNAME';
  readonly target: string;
}

/** The aliases that lead from a name to the end of its chain (RFC 1034, section 3.6.2; RFC 6672). */
export interface Chain {
  readonly links: readonly Alias[];
  /** The name that has no alias in the message. */
  readonly end: string;
  /** Completes a sentence about the chain; absent where it has an end. */
  readonly fault?: string;
}

/** Resolvers give up long before (BIND 9 after 11, Unbound after 12 aliases). */
const MOST_NAMES = 64;

/**
 * Follows a name through the aliases of a message, in any order.
 *
 * @param name Canonical, as all names here.
 * @param stopsAtCname The query is for the CNAME of the name itself, so none is followed (RFC 1034, section 4.3.2).
 */
export function followChain(name: string, aliases: readonly Alias[], stopsAtCname: boolean): Chain {
  const links = new Set<Alias>();
  const passed = new Set<string>();
  const allDnames = aliases.filter(({ type }) => type === 'DNAME');
  const allCnames = aliases.filter(({ type }) => type === 'CNAME');
  let end = name;
  while (!passed.has(end) && passed.size < MOST_NAMES) {
    passed.add(end);
    const dnames = allDnames.filter(({ owner }) => isBelow(end, owner));
    const cnames = allCnames.filter(({ owner }) => owner === end);
    if (stopsAtCname && dnames.length === 0) return { links: [], end };
    // A CNAME below a DNAME is the one that follows from it (RFC 6672, section 2.4): any other contradicts it.
    const substitutes = dnames.map((dname) => substituted(end, dname));
    const targets = new Set([...substitutes, ...cnames.map(({ target }) => target)]);
    if (targets.size > 1) return { links: [...links], end, fault: 'branches' };
    for (const dname of dnames) links.add(dname);
    const [next] = targets;
    if (stopsAtCname || next === undefined) return { links: [...links], end };
    for (const cname of cnames) links.add(cname);
    end = next;
  }
  return { links: [...links], end, fault: passed.has(end) ? 'loops' : `has over ${MOST_NAMES} names` };
}

/** Whether a name is below another one, which it does not equal. */
export function isBelow(name: string, ancestor: string): boolean {
  if (ancestor === '.') return name !== '.';
  if (!name.endsWith(`.${ancestor}`)) return false;
  // A dot after an odd number of backslashes is part of a label.
  const before = name.slice(0, -ancestor.length - 1);
  return (/\\*$/.exec(before)?.[0].length ?? 0) % 2 === 0;
}

/**
 * The name with the DNAME's target in the place of its owner (RFC 6672, section 2.2): the CNAME that a
 * server synthesizes may be missing.
 *
 * @throws InvalidObservationError for a name that becomes too long.
 */
function substituted(name: string, { owner, target }: Alias): string {
  const prefix = owner === '.' ? name : name.slice(0, -owner.length - 1);
  return target === '.' ? prefix : canonicalHostName(`${prefix}.${target}`);
}
