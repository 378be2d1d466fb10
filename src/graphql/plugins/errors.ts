import {
  type ASTNode,
  type DocumentNode,
  type GraphQLError,
  parse,
  type SourceLocation,
  visit,
} from 'graphql';
import type { GraphqlPlugin } from '../context.js';
import { isOfRequest, maskError } from '../format-error.js';

/** Errors that clients are not shown go to the log, and those of validation get their places in the text. */
export const errorsPlugin: GraphqlPlugin = {
  async didEncounterErrors({ errors, document, source, operation, contextValue }) {
    for (const error of errors) if (!isOfRequest(error)) maskError(error, contextValue.onInternalError);
    // Before the operation is known, errors are those of validation.
    if (document === undefined || source === undefined || operation !== undefined) return;
    const locate = locationsIn(document, source);
    for (const error of errors) {
      const locations = locate(error);
      if (error.locations === undefined && locations.length > 0) Object.assign(error, { locations });
    }
  },
};

/**
 * Where the errors of a document are in its text. Documents are parsed without locations: with them, graphql-js
 * reads the text from its start for each error, to count the lines, also of those of an execution.
 *
 * @param document of the text, parsed without locations.
 * @returns the locations of an error that names nodes of the document.
 */
export function locationsIn(
  document: DocumentNode,
  text: string,
): (error: GraphQLError) => readonly SourceLocation[] {
  const located = nodesOf(parse(text));
  const tokens = new Map(nodesOf(document).map((node, index) => [node, located[index]?.loc?.startToken]));
  return ({ nodes = [] }) =>
    nodes.flatMap((node) => {
      const token = tokens.get(node);
      return token === undefined ? [] : [{ line: token.line, column: token.column }];
    });
}

/** In the same order for each document of one text. */
function nodesOf(document: DocumentNode): readonly ASTNode[] {
  const nodes: ASTNode[] = [];
  visit(document, { enter: (node) => void nodes.push(node) });
  return nodes;
}
