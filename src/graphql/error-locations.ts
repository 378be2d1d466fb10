import {
  type ASTNode,
  type DocumentNode,
  type GraphQLError,
  parse,
  type SourceLocation,
  visit,
} from 'graphql';

/**
 * Where the errors of a document are in its text. Documents are parsed without locations: with them, graphql-js reads the
 * text from its start for each error, to count the lines, also for each one that is thrown while a document is executed.
 *
 * @param document of the text, parsed without locations.
 * @returns the locations of an error that names nodes of the document.
 */
export function locationsIn(
  document: DocumentNode,
  text: string,
): (error: GraphQLError) => readonly SourceLocation[] {
  const located = nodesOf(parse(text));
  const locations = new Map(nodesOf(document).map((node, index) => [node, located[index]?.loc?.startToken]));
  return ({ nodes = [] }) =>
    nodes.flatMap((node) => {
      const token = locations.get(node);
      return token === undefined ? [] : [{ line: token.line, column: token.column }];
    });
}

/** In the same order for each document of one text. */
function nodesOf(document: DocumentNode): readonly ASTNode[] {
  const nodes: ASTNode[] = [];
  visit(document, {
    enter(node) {
      nodes.push(node);
    },
  });
  return nodes;
}
