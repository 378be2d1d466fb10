import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';
import type { HistoryParts } from '../loaders/domain-history.js';

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
  const fields = selectedFields(node.selectionSet, fragments);
  const parts = {
    dnsRecords: fields.has('dnsRecords'),
    httpHeaders: fields.has('httpHeaders'),
    counts: ['dnsRecordCount', 'httpHeaderCount', 'changeCount'].some((field) => fields.has(field)),
  };
  partsOfNode.set(node, parts);
  return parts;
}

/** The names of the fields that a selection has, in fragments too, but not inside other fields. */
function selectedFields(selectionSet: SelectionSetNode | undefined, fragments: Fragments): Set<string> {
  const fields = new Set<string>();
  const visited = new Set<SelectionSetNode>();
  const visit = (set: SelectionSetNode | undefined): void => {
    // A fragment that is spread many times is examined once.
    if (set === undefined || visited.has(set)) return;
    visited.add(set);
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) fields.add(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) visit(selection.selectionSet);
      else visit(fragments[selection.name.value]?.selectionSet);
    }
  };
  visit(selectionSet);
  return fields;
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
