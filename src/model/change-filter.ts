import type { ChangeKind, RoutineReason } from './change-kinds.js';
import type { NamePattern } from './name-pattern.js';

/** All conditions that are given have to be met. */
export interface ChangeFilter {
  readonly kinds: ReadonlySet<ChangeKind>;
  /** Of records of these types; absent: of all. Where there are headers, too, of either. */
  readonly types?: readonly string[] | undefined;
  /** Of these headers, by name in lower case; absent: of all. */
  readonly headers?: readonly string[] | undefined;
  readonly notable?: boolean | undefined;
}

export interface ChangesAnywhere extends ChangeFilter {
  /** Of these domains, by canonical name, or below these names; absent: of all. */
  readonly domains?: readonly NamePattern[] | undefined;
  readonly registrableDomain?: string | undefined;
  readonly watched?: boolean | undefined;
}

interface FilteredChange {
  readonly domain: string;
  readonly kind: ChangeKind;
  readonly routine: RoutineReason | null;
  readonly record?: { readonly type: string };
  readonly name?: string;
  /** Whether its domain is watched; absent: a filter of that is not met. */
  readonly watched?: boolean;
}

export function changeTest(filter: ChangesAnywhere): (change: FilteredChange) => boolean {
  const { kinds, notable, watched } = filter;
  const isOfDomains = domainTest(filter);
  const [types, headers] = [filter.types, filter.headers].map((list) => list && new Set(list));
  const isOfParts = ({ record, name }: FilteredChange) => {
    if (types === undefined && headers === undefined) return true;
    return (record === undefined ? headers?.has(name ?? '') : types?.has(record.type)) === true;
  };
  return (change) =>
    kinds.has(change.kind) &&
    (notable === undefined || (change.routine === null) === notable) &&
    (watched === undefined || change.watched === watched) &&
    isOfParts(change) &&
    isOfDomains(change.domain);
}

export function domainTest(filter: Pick<ChangesAnywhere, 'domains' | 'registrableDomain'>) {
  const { domains, registrableDomain: of } = filter;
  const suffixes = domains?.flatMap(({ parts: [, below] }) => below ?? []) ?? [];
  const names = new Set(domains?.map(({ parts }) => parts.join('*')));
  return (domain: string) =>
    (of === undefined || domain === of || domain.endsWith(`.${of}`)) &&
    (domains === undefined || names.has(domain) || suffixes.some((suffix) => domain.endsWith(suffix)));
}
