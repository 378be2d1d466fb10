import { readdirSync, readFileSync } from 'node:fs';
import { type AnonymousAccess, isOpen, ROUTES } from '../../rest/v1/routes.js';
import { PAGE_POLICY } from '../response-fields.js';
import type { PageAt, StaticResponse } from './static-files.js';

export interface DocumentedService {
  /** '' or like `/dms`; of characters that need no escaping. */
  readonly basePath: string;
  readonly access: AnonymousAccess;
  /** Whether GraphQL allows any query, so that Sandbox and GraphiQL are of use. */
  readonly anyQuery: boolean;
  /** Whether GraphQL allows the operations of the page that shows the history. */
  readonly webPage: boolean;
}

/** Written by the build (web/vite.config.ts, scripts/pages.js); the same from src/ and from dist/. */
export const WEB = new URL('../../../dist/web/', import.meta.url);
export const PAGES = new URL('../../../dist/pages/', import.meta.url);

// What each page may load: from no other host, and no script that is not a file of this server.
const WEB_POLICY = `${PAGE_POLICY}; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'`;
const DOCUMENT_POLICY = `${PAGE_POLICY}; style-src 'self'; img-src data:`;
// The libraries write styles into elements: what could be injected is how they look, with fonts and pictures.
const LIBRARY_POLICY =
  `${PAGE_POLICY}; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; ` +
  "worker-src 'self'; font-src data:; img-src 'self' data:";

export function readPage(name: string, basePath: string): string {
  return readFileSync(new URL(name, PAGES), 'utf8').replaceAll('{{base}}', basePath);
}

function html(body: string, policy = PAGE_POLICY): StaticResponse {
  return { mediaType: 'text/html; charset=utf-8', body, headers: { 'content-security-policy': policy } };
}

/** The page that shows the history. @param domain In canonical form; absent: all. */
export function webPage(service: DocumentedService, domain?: string): StaticResponse {
  const { basePath, anyQuery } = service;
  const body = readFileSync(new URL('index.html', WEB), 'utf8')
    .replaceAll('="./', `="${basePath}/assets/web/`)
    .replace('data-base-path=""', `data-base-path="${basePath}"`)
    .replace('</head>', () => `  ${feedLink(basePath, domain)}\n  </head>`)
    .replace('data-any-query="true"', `data-any-query="${anyQuery}"`)
    .replace('<noscript></noscript>', () => `<noscript>\n${withoutScript(service)}\n</noscript>`);
  return html(body, WEB_POLICY);
}

/** Where readers find the feed of a page's changes, as web/src/app.tsx does where it goes to another one. */
function feedLink(basePath: string, domain?: string): string {
  const path = domain === undefined ? '' : `/domain/${domain}`;
  return `<link rel="alternate" type="application/atom+xml" href="${basePath}/api/v1${path}/changes.atom">`;
}

/** The OpenAPI document as a page (Swagger UI), or GraphiQL: for places that Sandbox cannot be loaded in. */
export function libraryPage(name: 'swagger-ui' | 'graphiql', basePath: string): StaticResponse {
  return html(readPage(`${name}.html`, basePath), LIBRARY_POLICY);
}

/** They have the style of the page at the root, and no script. */
export function documentPages(basePath: string): readonly PageAt[] {
  const style = readdirSync(WEB).find((name) => name.endsWith('.css'));
  return readdirSync(new URL('documents/', PAGES), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html'))
    .map((file) => {
      const read = () => {
        const page = readPage(`documents/${file}`, basePath);
        return html(page.replace('{{style}}', `${basePath}/assets/web/${style}`), DOCUMENT_POLICY);
      };
      return [`${basePath}/docs/${file.replace(/(?:^index)?\.html$/, '')}`, read] as const;
    });
}

/** The icon of the page at the root, for what has none of its own, as JSON has. */
export function icon(): StaticResponse {
  const name = readdirSync(WEB).find((file) => file.endsWith('.svg')) ?? '';
  return { mediaType: 'image/svg+xml', body: readFileSync(new URL(name, WEB), 'utf8') };
}

export function webOperations(): readonly string[] {
  return Object.values<string>(JSON.parse(readFileSync(new URL('operations.json', WEB), 'utf8')));
}

/** The page at the root where GraphQL does not allow what the other one sends: links to the APIs alone. */
export function startPage(service: DocumentedService): StaticResponse {
  return html(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Domain Metadata Service</title>
${feedLink(service.basePath)}
${withoutScript(service)}
</html>
`);
}

function withoutScript({ basePath, access, anyQuery }: DocumentedService): string {
  const rows = ROUTES.map((route) => {
    const { summary, path, scope, 'x-maturity': maturity } = route;
    const needed = isOpen(route, access) ? 'no token needed' : (scope ?? 'none: any token');
    const cells = [summary, `<code>GET ${basePath}/api/v1${path}</code>`, needed, maturity];
    return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
  const graphql = anyQuery
    ? `<a href="${basePath}/graphql">GraphQL</a>: opens Apollo Sandbox, with ready queries; or
<a href="${basePath}/graphiql">GraphiQL</a>, which needs no other host`
    : `GraphQL, at <code>${basePath}/graphql</code>: for the operations of <code>PERSISTED_ONLY</code> only`;
  return readPage('service.html', basePath)
    .trimEnd()
    .replace('{{graphql}}', graphql)
    .replace('{{rows}}', rows.join('\n'));
}
