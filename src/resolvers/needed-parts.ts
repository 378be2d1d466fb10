import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';
import type { DnsEntry, OfDomain } from '../loaders/dns-entries.js';
import type { HistoryParts } from '../loaders/domain-history.js';
import { fieldsByName } from './selection-size.js';

type Fragments = GraphQLResolveInfo['fragments'];

/** A node belongs to one document, which may be executed many times: what it selects never changes. */
const partsOfNode = new WeakMap<FieldNode, HistoryParts>();

/**
 * The parts of a domain's history that a query's field selects, so that no other is loaded. A field that
 * `@skip` or `@include` leaves out counts as selected.
 */
export function neededParts(info: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>): HistoryParts {
  return info.fieldNodes.map((node) => partsOf(node, info.fragments)).reduce(union);
}

/** The fields that follow from a domain's name and what was asked for. */
const NAMES = new Set(['id', 'name', 'at', 'unicodeName', 'registrableDomain', '__typename']);

/** By the field: whether nothing else is selected of domains; of entries, whether their ids or pages of their histories are. */
const namesOfNode = new WeakMap<FieldNode, boolean>();
const pagesOfNode = new WeakMap<FieldNode, boolean>();

/** Whether a field of domains selects nothing but names. It is looked for once: a page has many domains. */
export function selectsNames({
  fieldNodes,
  fragments,
}: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>): boolean {
  return fieldNodes.every((node) => {
    const known = namesOfNode.get(node);
    if (known !== undefined) return known;
    const selects = [...selectedFields(node, fragments)].every((name) => NAMES.has(name));
    namesOfNode.set(node, selects);
    return selects;
  });
}

/**
 * Whether ids of entries, or pages of the histories of headers, are selected: both need the domain. Nearly every query has entries, and
 * none of these: it is looked for once.
 */
export function selectsIdOrPages(info: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>): boolean {
  return info.fieldNodes.some((node) => {
    const known = pagesOfNode.get(node);
    if (known !== undefined) return known;
    const fields = selectedFields(node, info.fragments);
    const selects = fields.has('id') || fields.has('historyConnection');
    pagesOfNode.set(node, selects);
    return selects;
  });
}

/** The entry of a list, with the domain that it is of where its `id` is selected. */
export function ofDomain(
  entry: DnsEntry,
  of: OfDomain,
  info: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>,
): DnsEntry {
  return selectsIdOrPages(info) ? { ...entry, of } : entry;
}

/** Whether a field is selected of what another gives. */
export function selectsField(
  field: string,
  info: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>,
): boolean {
  return info.fieldNodes.some((node) => selectedFields(node, info.fragments).has(field));
}

/** Whether a field is selected of the nodes of a connection. */
export function selectsOfNodes(
  field: string,
  info: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>,
): boolean {
  const isNode = (name: string) => name === 'node' || name === 'nodes';
  return info.fieldNodes.some((node) => selectsInside(node, info.fragments, field, isNode));
}

function union(one: HistoryParts, other: HistoryParts): HistoryParts {
  return {
    dnsRecords: one.dnsRecords || other.dnsRecords,
    httpHeaders: one.httpHeaders || other.httpHeaders,
    counts: one.counts || other.counts,
    times: one.times === true || other.times === true,
    ...((one.dnsRecords || other.dnsRecords) &&
      [one, other].every(({ dnsRecords, filtered }) => !dnsRecords || filtered === true) &&
      FILTERED),
  };
}

function partsOf(node: FieldNode, fragments: Fragments): HistoryParts {
  const known = partsOfNode.get(node);
  if (known !== undefined) return known;
  const fields = selectedFields(node, fragments);
  // A difference is one of the history.
  const diff = fields.has('diff');
  const lists = recordLists(node, fragments);
  const parts = {
    dnsRecords: diff || fields.has('dnsRecords'),
    httpHeaders: diff || fields.has('httpHeaders'),
    counts: ['dnsRecordCount', 'httpHeaderCount', 'changeCount'].some((field) => fields.has(field)),
    times: fields.has('parts') || selectsLastSeen(node, fragments),
    ...(!diff && lists.length > 0 && lists.every(isFiltered) && FILTERED),
  };
  partsOfNode.set(node, parts);
  return parts;
}

const FILTERED = { filtered: true };

/** Whether a list of records is one of some types, or of those that are present or not. */
function isFiltered({ arguments: given = [] }: FieldNode): boolean {
  return given.some(({ name, value }) => FILTERS.has(name.value) && value.kind !== Kind.NULL);
}

const FILTERS = new Set(['types', 'present']);

function recordLists(node: FieldNode, fragments: Fragments): FieldNode[] {
  return fieldsOf(node, fragments).filter(({ name }) => name.value === 'dnsRecords');
}

function selectedFields(node: FieldNode, fragments: Fragments): ReadonlySet<string> {
  return new Set(fieldsOf(node, fragments).map(({ name }) => name.value));
}

function fieldsOf({ selectionSet }: FieldNode, fragments: Fragments): FieldNode[] {
  const sets = selectionSet === undefined ? [] : [selectionSet];
  const nodes = fieldsByName(
    sets,
    (fragment) =>
      (fragment.kind === Kind.FRAGMENT_SPREAD ? fragments[fragment.name.value] : fragment)?.selectionSet,
  );
  return [...nodes.values()].flat();
}

/** The fields whose entries have `lastSeen` by the latest observation of their part. */
const LISTS = new Set(['dnsRecords', 'httpHeaders', 'dnsRecordsAdded', 'dnsRecordsRemoved', 'record']);

/** Whether `lastSeen` of an entry is selected anywhere inside a field. */
function selectsLastSeen(node: FieldNode, fragments: Fragments): boolean {
  return selectsInside(node, fragments, 'lastSeen', (name) => LISTS.has(name));
}

/** Whether a field is selected anywhere inside another, in an entry of a list. */
function selectsInside(
  { selectionSet }: FieldNode,
  fragments: Fragments,
  field: string,
  isList: (name: string) => boolean,
): boolean {
  const visited = new Set<SelectionSetNode>();
  const inside = (set: SelectionSetNode | undefined, isOfList: boolean): boolean => {
    if (set === undefined || visited.has(set)) return false;
    visited.add(set);
    return set.selections.some((selection) => {
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        return inside(fragments[selection.name.value]?.selectionSet, isOfList);
      }
      if (selection.kind === Kind.INLINE_FRAGMENT) return inside(selection.selectionSet, isOfList);
      const name = selection.name.value;
      return name === field ? isOfList : inside(selection.selectionSet, isList(name));
    });
  };
  return inside(selectionSet, false);
}

/**
 * A part of a history that neededParts has found.
 *
 * @throws Error where it has not: neededParts and the resolvers disagree on what a field is read from.
 */
export function loadedPart<Part>(part: Part | null): Part {
  if (part === null) throw new Error('A part of the history was selected but not loaded.');
  return part;
}
