import { type AnonymousAccess, isOpen, ROUTES } from '../../rest/v1/routes.js';
import { pagePolicy } from '../response-fields.js';
import type { FixedAnswer } from './fixed-answer.js';

/** What the pages tell of. */
export interface DocumentedService {
  /** '' or like `/dms`; of characters that need no escaping. */
  readonly basePath: string;
  /** What a client without a token may do. */
  readonly access: AnonymousAccess;
  /** Whether GraphQL answers any query, so that Sandbox and GraphiQL are of use. */
  readonly anyQuery: boolean;
}

/** The page at the root: where to find what. It loads nothing. */
export function startPage(service: DocumentedService): FixedAnswer {
  return {
    mediaType: 'text/html; charset=utf-8',
    body: textOf(service),
    headers: { 'content-security-policy': pagePolicy() },
  };
}

function textOf({ basePath, access, anyQuery }: DocumentedService): string {
  const api = `${basePath}/api/v1`;
  const example = `${api}/domain/example.com`;
  const rows = ROUTES.map((route) => {
    const { name, path, scope, maturity } = route;
    const needed = isOpen(route, access) ? 'no token needed' : (scope ?? 'none: any token');
    return `<tr><td>${name}<td><code>GET ${api}${path}</code><td>${needed}<td>${maturity}`;
  });
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Domain Metadata Service</title>
<h1>Domain Metadata Service</h1>
<p>DNS records and HTTP response headers of domains over time. Two APIs for the same history:
<ul>
<li>${graphqlText(basePath, anyQuery)}
<li>REST, for example <a href="${example}">${example}</a>; all of it: <a href="${api}/docs">documentation</a>,
<a href="${api}/openapi.json">OpenAPI</a>
</ul>
<table>
<tr><th>Operation<th>Path<th>Token's scope<th>Maturity
${rows.join('\n')}
</table>
</html>
`;
}

function graphqlText(basePath: string, anyQuery: boolean): string {
  if (anyQuery) {
    return `<a href="${basePath}/graphql">GraphQL</a>: opens Apollo Sandbox, with ready queries; or
<a href="${basePath}/graphiql">GraphiQL</a>, which needs no other host`;
  }
  return `GraphQL, at <code>${basePath}/graphql</code>: answers the operations of <code>PERSISTED_ONLY</code> only`;
}
