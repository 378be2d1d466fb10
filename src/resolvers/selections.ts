import {
  type FieldNode,
  type FragmentSpreadNode,
  type GraphQLResolveInfo,
  type InlineFragmentNode,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import type { HistoryParts } from '../loaders/domain-history.js';

/** Where a field is selected: part of GraphQLResolveInfo. */
export type Selecting = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;

type Fragments = Selecting['fragments'];

/** What is selected in a field. */
interface Selected {
  /** The names of the fields, of fragments too. */
  readonly fields: ReadonlySet<string>;
  readonly parts: HistoryParts;
  /** How often a field of the objects is selected at most, under different names. */
  readonly copies: number;
  /** Whether `lastSeen` is selected anywhere inside. */
  readonly lastSeen: boolean;
}

/** A node belongs to one document, which may be executed many times: what it selects never changes. */
const known = new WeakMap<FieldNode, Selected>();

/**
 * The parts of a domain's history that a query's field selects, so that no other is loaded. A field that
 * `@skip` or `@include` leaves out counts as selected.
 */
export function neededParts(info: Selecting): HistoryParts {
  return all(info)
    .map(({ parts }) => parts)
    .reduce((one, other) => ({
      dnsRecords: one.dnsRecords || other.dnsRecords,
      httpHeaders: one.httpHeaders || other.httpHeaders,
      counts: one.counts || other.counts,
      times: one.times || other.times,
    }));
}

/** The fields that follow from a domain's name and what was asked for. */
const NAMES = new Set(['id', 'name', 'at', 'unicodeName', 'registrableDomain', '__typename']);

/** Whether a field of domains selects nothing but names. */
export function selectsNames(info: Selecting): boolean {
  return all(info).every(({ fields }) => [...fields].every((name) => NAMES.has(name)));
}

/** Whether a field is selected of what another gives. */
export function selectsField(field: string, info: Selecting): boolean {
  return all(info).some(({ fields }) => fields.has(field));
}

/** Whether `lastSeen` is selected anywhere inside a field. */
export function selectsLastSeen(info: Selecting): boolean {
  return all(info).some(({ lastSeen }) => lastSeen);
}

/** Whether a field is selected of the nodes of a connection. */
export function selectsOfNodes(field: string, { fieldNodes, fragments }: Selecting): boolean {
  const nodes = (node: FieldNode): FieldNode[] =>
    fieldsOf(node, fragments).flatMap((inside) => {
      const { value } = inside.name;
      return value === 'edges' ? nodes(inside) : value === 'nodes' || value === 'node' ? [inside] : [];
    });
  const found = fieldNodes.flatMap(nodes);
  return found.length > 0 && selectsField(field, { fieldNodes: found, fragments });
}

/** How often a list's response repeats what is stored of its entries, at most: under other names of their fields. */
export function copiesSelected(info: Selecting): number {
  return all(info).reduce((sum, { copies }) => sum + copies, 0);
}

function all({ fieldNodes, fragments }: Selecting): Selected[] {
  return fieldNodes.map((node) => {
    const found = known.get(node) ?? read(node, fragments);
    known.set(node, found);
    return found;
  });
}

const COUNTS = ['dnsRecordCount', 'httpHeaderCount', 'changeCount'];

function read(node: FieldNode, fragments: Fragments): Selected {
  const inside = fieldsOf(node, fragments);
  const fields = new Set(inside.map(({ name }) => name.value));
  const lists = inside.filter(({ name }) => LISTS.has(name.value));
  const info = (list: FieldNode) => ({ fieldNodes: [list], fragments });
  return {
    fields,
    parts: {
      dnsRecords: fields.has('dnsRecords'),
      httpHeaders: fields.has('httpHeaders'),
      counts: COUNTS.some((field) => fields.has(field)),
      times: fields.has('parts') || lists.some((list) => selectsLastSeen(info(list))),
    },
    copies: copiesOf(inside, fragments),
    lastSeen: fields.has('lastSeen') || inside.some((field) => selectsLastSeen(info(field))),
  };
}

/** The fields whose entries have `lastSeen` by the latest observation of their part. */
const LISTS = new Set(['dnsRecords', 'httpHeaders', 'diff', 'changes']);

function copiesOf(fields: readonly FieldNode[], fragments: Fragments): number {
  const names = new Map<string, Set<string>>();
  let inside = 1;
  for (const field of fields) {
    const { value: name } = field.name;
    names.set(name, (names.get(name) ?? new Set()).add((field.alias ?? field.name).value));
    if (field.selectionSet !== undefined)
      inside = Math.max(inside, copiesSelected({ fieldNodes: [field], fragments }));
  }
  return inside * Math.max(1, ...[...names.values()].map(({ size }) => size));
}

/** The fields that are selected in a field, those of its fragments too. */
function fieldsOf({ selectionSet }: FieldNode, fragments: Fragments): FieldNode[] {
  const fields: FieldNode[] = [];
  const visited = new Set<SelectionSetNode>();
  const visit = (set: SelectionSetNode | undefined): void => {
    if (set === undefined || visited.has(set)) return;
    visited.add(set);
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) fields.push(selection);
      else visit(setOf(selection, fragments));
    }
  };
  visit(selectionSet);
  return fields;
}

function setOf(
  selection: FragmentSpreadNode | InlineFragmentNode,
  fragments: Fragments,
): SelectionSetNode | undefined {
  return selection.kind === Kind.FRAGMENT_SPREAD
    ? fragments[selection.name.value]?.selectionSet
    : selection.selectionSet;
}
