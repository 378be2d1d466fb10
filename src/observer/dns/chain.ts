import { ancestorsOf, canonicalHostName } from '../../model/host-name.js';

/** A CNAME or DNAME record of an answer section, with the record that says so. */
export interface Alias {
  readonly owner: string;
  readonly type: 'CNAME' | 'DNAME';
  readonly target: string;
  readonly record: object;
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
const MAX_NAMES = 64;

/**
 * Follows a name through the aliases of a message, in any order.
 *
 * @param name Canonical, as all names here.
 * @param stopsAtCname The query is for the CNAME of the name itself, so none is followed (RFC 1034, section
 * 4.3.2).
 */
export function followChain(name: string, aliases: readonly Alias[], stopsAtCname: boolean): Chain {
  const links = new Set<Alias>();
  const passed = new Set<string>();
  let end = name;
  while (!passed.has(end) && passed.size < MAX_NAMES) {
    passed.add(end);
    const above = ancestorsOf(end);
    const isNext = ({ type, owner }: Alias) => (type === 'CNAME' ? owner === end : above.includes(owner));
    const found = aliases.filter(isNext);
    const followed = stopsAtCname ? found.filter(({ type }) => type === 'DNAME') : found;
    if (followed.length === 0) return { links: [...links], end };
    // A CNAME below a DNAME is the one that follows from it (RFC 6672, section 2.4): any other contradicts it.
    const [next = end, ...others] = new Set(found.map((alias) => targetOf(end, alias)));
    if (others.length > 0) return { links: [...links], end, fault: 'branches' };
    for (const alias of followed) links.add(alias);
    if (stopsAtCname) return { links: [...links], end };
    end = next;
  }
  return { links: [...links], end, fault: passed.has(end) ? 'loops' : `has over ${MAX_NAMES} names` };
}

/**
 * The target of a CNAME; of a DNAME the name with its target in the place of its owner (RFC 6672, section 2.2):
 * the CNAME that a server synthesizes may be missing.
 *
 * @throws InvalidObservationError for a name that becomes too long.
 */
function targetOf(name: string, { owner, type, target }: Alias): string {
  if (type === 'CNAME') return target;
  const prefix = owner === '.' ? name : name.slice(0, -owner.length - 1);
  return target === '.' ? prefix : canonicalHostName(`${prefix}.${target}`);
}
