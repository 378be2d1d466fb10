import type { Handler } from 'express';
import { type AnonymousAccess, isOpen } from '../rest/v1/anonymous-access.js';
import { requireReading } from '../rest/v1/require-reading.js';
import { ROUTES } from '../rest/v1/routes.js';
import { pagePolicy } from './response-fields.js';

/** What the start page tells of. */
export interface StartPageOptions {
  /** Before all paths; of characters that need no escaping. */
  readonly basePath: string;
  readonly access: AnonymousAccess;
  /** Whether `/graphql` opens Apollo Sandbox in a browser; otherwise it answers the operations of a list only. */
  readonly sandbox: boolean;
}

/** The page at the root: where to find what. It loads nothing. */
export function startPage(options: StartPageOptions): Handler {
  const page = Buffer.from(pageOf(options));
  return (request, response) => {
    requireReading(request, response);
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': page.length,
      'content-security-policy': pagePolicy(),
    });
    response.end(page);
  };
}

function pageOf({ basePath, access, sandbox }: StartPageOptions): string {
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
<p>DNS records and HTTP response headers of domains over time. Two doors to the same history:
<ul>
<li>${graphqlText(basePath, sandbox)}
<li>REST, for example <a href="${example}">${example}</a>; all of it: <a href="${api}/docs">documentation</a>,
<a href="${api}/openapi.json">OpenAPI</a>
</ul>
<table>
<tr><th>Operation<th>Address<th>Token's scope<th>Maturity
${rows.join('\n')}
</table>
</html>
`;
}

function graphqlText(basePath: string, sandbox: boolean): string {
  if (sandbox) {
    return `<a href="${basePath}/graphql">GraphQL</a>: opens Apollo Sandbox, with ready queries; or
<a href="${basePath}/graphiql">GraphiQL</a>, which needs no other host`;
  }
  return `GraphQL, at <code>${basePath}/graphql</code>: answers the operations of <code>PERSISTED_ONLY</code> only`;
}
