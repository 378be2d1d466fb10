import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';
import type { HistoryParts } from '../loaders/domain-history.js';

export type Selecting = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;

/** What is selected in a field. What `@skip` or `@include` leaves out counts as selected. */
interface Selected {
  /** The names of the fields, of fragments too. */
  readonly fields: ReadonlySet<string>;
  /** The same, and the names of the fields in these, at any depth. */
  readonly anywhere: ReadonlySet<string>;
  /** How often a field of the objects is selected at most, under different names. */
  readonly copies: number;
}

/** A node belongs to one document, which may be executed many times: what it selects never changes. */
const known = new WeakMap<FieldNode, Selected>();

export function selected({ fieldNodes, fragments }: Selecting): Selected {
  return fieldNodes
    .map((node) => selectedIn(node, fragments))
    .reduce((one, other) => ({
      fields: new Set([...one.fields, ...other.fields]),
      anywhere: new Set([...one.anywhere, ...other.anywhere]),
      copies: one.copies + other.copies,
    }));
}

/** The parts of a domain's history that a query's field selects, so that no other is loaded. */
export function neededParts(info: Selecting): HistoryParts {
  const { fields, anywhere } = selected(info);
  const hasLastSeen = anywhere.has('lastSeen') && LISTS.some((field) => fields.has(field));
  return {
    dnsRecords: fields.has('dnsRecords'),
    httpHeaders: fields.has('httpHeaders'),
    site: fields.has('site'),
    counts: COUNTS.some((field) => fields.has(field)),
    times: hasLastSeen || fields.has('parts'),
  };
}

/** The fields whose entries have `lastSeen` by the latest observation of their part. */
const LISTS = ['dnsRecords', 'httpHeaders', 'diff', 'changes'];

const COUNTS = ['dnsRecordCount', 'httpHeaderCount', 'changeCount'];

/** The fields that follow from a domain's name and what was asked for. */
const NAMES = new Set(['id', 'name', 'at', 'unicodeName', 'registrableDomain', '__typename']);

export function selectsNames(info: Selecting): boolean {
  return [...selected(info).fields].every((name) => NAMES.has(name));
}

function selectedIn(node: FieldNode, fragments: Selecting['fragments']): Selected {
  const read = known.get(node) ?? readSelected(fieldsIn(node.selectionSet, fragments), fragments);
  known.set(node, read);
  return read;
}

function readSelected(nodes: readonly FieldNode[], fragments: Selecting['fragments']): Selected {
  const aliases = new Map<string, Set<string>>();
  const anywhere = new Set<string>();
  let copiesInside = 1;
  for (const node of nodes) {
    const { value: name } = node.name;
    aliases.set(name, (aliases.get(name) ?? new Set()).add((node.alias ?? node.name).value));
    if (node.selectionSet === undefined) continue;
    const inside = selectedIn(node, fragments);
    for (const each of inside.anywhere) anywhere.add(each);
    copiesInside = Math.max(copiesInside, inside.copies);
  }
  const fields = new Set(aliases.keys());
  for (const field of fields) anywhere.add(field);
  const copies = copiesInside * Math.max(1, ...[...aliases.values()].map(({ size }) => size));
  return { fields, anywhere, copies };
}

function fieldsIn(
  set: SelectionSetNode | undefined,
  fragments: Selecting['fragments'],
  visited = new Set<SelectionSetNode>(),
): readonly FieldNode[] {
  if (set === undefined || visited.has(set)) return [];
  visited.add(set);
  return set.selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return selection;
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value] : selection;
    return fieldsIn(fragment?.selectionSet, fragments, visited);
  });
}
