import { type FieldNode, type GraphQLResolveInfo, Kind } from 'graphql';
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

function union(one: HistoryParts, other: HistoryParts): HistoryParts {
  return {
    dnsRecords: one.dnsRecords || other.dnsRecords,
    httpHeaders: one.httpHeaders || other.httpHeaders,
    counts: one.counts || other.counts,
  };
}

function partsOf(node: FieldNode, fragments: Fragments): HistoryParts {
  const known = partsOfNode.get(node);
  if (known !== undefined) return known;
  const fields = selectedFields(node, fragments);
  // A difference is one of the history.
  const diff = fields.has('diff');
  const parts = {
    dnsRecords: diff || fields.has('dnsRecords'),
    httpHeaders: diff || fields.has('httpHeaders'),
    counts: ['dnsRecordCount', 'httpHeaderCount', 'changeCount'].some((field) => fields.has(field)),
  };
  partsOfNode.set(node, parts);
  return parts;
}

function selectedFields({ selectionSet }: FieldNode, fragments: Fragments): ReadonlySet<string> {
  const sets = selectionSet === undefined ? [] : [selectionSet];
  const nodes = fieldsByName(
    sets,
    (fragment) =>
      (fragment.kind === Kind.FRAGMENT_SPREAD ? fragments[fragment.name.value] : fragment)?.selectionSet,
  );
  return new Set([...nodes.values()].flat().map(({ name }) => name.value));
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
