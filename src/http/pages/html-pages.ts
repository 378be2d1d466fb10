import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AnonymousAccess, isOpen, ROUTES } from '../../rest/v1/routes.js';
import { type PolicySources, pagePolicy } from '../response-fields.js';
import type { StaticResponse } from './static-files.js';

/** The service that the pages describe. */
export interface DocumentedService {
  /** '' or like `/dms`; of characters that need no escaping. */
  readonly basePath: string;
  /** What a client without a token may do. */
  readonly access: AnonymousAccess;
  /** Whether GraphQL allows any query, so that Sandbox and GraphiQL are of use. */
  readonly anyQuery: boolean;
  /** Whether GraphQL allows the operations of the page that shows the history. */
  readonly webPage: boolean;
}

/** The page at the root where GraphQL does not allow what the other one sends: links to the APIs. It loads nothing. */
export function startPage(service: DocumentedService): StaticResponse {
  return {
    mediaType: 'text/html; charset=utf-8',
    body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Domain Metadata Service</title>
${withoutScript(service)}
</html>
`,
    headers: { 'content-security-policy': pagePolicy() },
  };
}

/** What the service is and has, for browsers without JavaScript too. */
export function withoutScript({ basePath, access, anyQuery }: DocumentedService): string {
  const api = `${basePath}/api/v1`;
  const example = `${api}/domain/example.com`;
  const rows = ROUTES.map((route) => {
    const { name, path, scope, maturity } = route;
    const needed = isOpen(route, access) ? 'no token needed' : (scope ?? 'none: any token');
    return `<tr><td>${name}<td><code>GET ${api}${path}</code><td>${needed}<td>${maturity}`;
  });
  return `<h1>Domain Metadata Service</h1>
<p>DNS records and HTTP response headers of domains over time. Two APIs for the same history:
<ul>
<li>${graphqlText(basePath, anyQuery)}
<li>REST, for example <a href="${example}">${example}</a>; all of it: <a href="${api}/docs">documentation</a>,
<a href="${api}/openapi.json">OpenAPI</a>
</ul>
<p>How to use them: <a href="${basePath}/docs/">documents</a>
<table>
<tr><th>Operation<th>Path<th>Token's scope<th>Maturity
${rows.join('\n')}
</table>`;
}

function graphqlText(basePath: string, anyQuery: boolean): string {
  if (anyQuery) {
    return `<a href="${basePath}/graphql">GraphQL</a>: opens Apollo Sandbox, with ready queries; or
<a href="${basePath}/graphiql">GraphiQL</a>, which needs no other host`;
  }
  return `GraphQL, at <code>${basePath}/graphql</code>: for the operations of <code>PERSISTED_ONLY</code> only`;
}

/** The OpenAPI document beside it as a page: Swagger UI, which loads nothing from other hosts. */
export function docsPage(assets: string): StaticResponse {
  return htmlPage({
    title: 'Domain Metadata Service: REST API v1',
    styles: [`${assets}/swagger-ui/swagger-ui.css`],
    scripts: [`${assets}/swagger-ui/swagger-ui-bundle.js`],
    elementId: 'swagger-ui',
    start: SWAGGER,
    // Pictures in the styles.
    sources: { 'img-src': ["'self'", 'data:'] },
  });
}

/**
 * An operation shows a closed lock while a token is missing, an open one with it, and none where no token is
 * needed; by itself Swagger UI shows open locks before a token is entered, and a closed one where it is optional.
 * It would send the examples of all parameters, of which no question has all, and shows a badge of a validator on the
 * internet by default.
 */
const SWAGGER = `
const turned = (Lock, { React }) => ({ isAuthorized, ...rest }) =>
  React.createElement(Lock, { ...rest, isAuthorized: !isAuthorized });
const withoutLockIfOpen = (Summary, { React }) => ({ operationProps, ...rest }) => {
  const security = operationProps.get('security');
  const open = security?.some((requirement) => requirement.isEmpty());
  const shown = open ? operationProps.set('security', security.clear()) : operationProps;
  return React.createElement(Summary, { ...rest, operationProps: shown });
};
const withoutOptionalExamples = (update) => (spec) => {
  const own = Object.values(spec.paths).flatMap(({ get }) => get.parameters);
  for (const parameter of [...own, ...Object.values(spec.components.parameters)])
    if (!parameter.required) delete parameter.example;
  return update(spec);
};
SwaggerUIBundle({
  plugins: [
    {
      statePlugins: { spec: { wrapActions: { updateJsonSpec: withoutOptionalExamples } } },
      wrapComponents: {
        authorizeBtn: turned,
        authorizeOperationBtn: turned,
        OperationSummary: withoutLockIfOpen,
      },
    },
  ],
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  queryConfigEnabled: false,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
});
`;

const QUERIES_FILE = new URL('../../../samples/queries.graphql', import.meta.url);

/** Of GraphiQL alone: Sandbox opens subscriptions in other ways than server-sent events. */
const LIVE_QUERY = `# What changes from now on, until it is stopped.
subscription Live {
  changes {
    nodes {
      date
      kind
      domain { name }
    }
    pageInfo {
      endCursor
    }
  }
}
`;

/** GraphiQL, with the ready queries of samples/queries.graphql: for places that Sandbox cannot be loaded in. */
export function graphiqlPage(assets: string): StaticResponse {
  return htmlPage({
    title: 'Domain Metadata Service: GraphiQL',
    styles: [`${assets}/graphiql/graphiql.css`],
    scripts: [`${assets}/graphiql/graphiql.js`],
    elementId: 'graphiql',
    start: graphiqlScript(assets),
    // Fonts and pictures are in the styles.
    sources: { 'worker-src': ["'self'"], 'font-src': ['data:'], 'img-src': ["'self'", 'data:'] },
  });
}

/** The editor's workers are files of this server; tokens that are written into its headers are not kept. */
function graphiqlScript(assets: string): string {
  return `
const workers = { editorWorkerService: 'editor', json: 'json', graphql: 'graphql' };
self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => '${assets}/graphiql/' + workers[label] + '-worker.js',
};
// A link to a query has it behind the #, which is not sent.
const linked = new URLSearchParams(location.hash.slice(1));
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('graphiql'), {
  title: 'Domain Metadata Service',
  logo: '<span></span>',
  query: linked.get('query') ?? ${scriptText(`${readFileSync(QUERIES_FILE, 'utf8')}\n${LIVE_QUERY}`)},
  variables: linked.get('variables') ?? '{ "domain": "example.com" }',
  shouldPersistHeaders: false,
  // The text would go into the page's address otherwise, which may be too long then.
  onEditQuery: () => {},
  async fetcher(parameters, { headers } = {}) {
    const controller = new AbortController();
    const response = await fetch('graphql', {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
      body: JSON.stringify(parameters),
      signal: controller.signal,
    });
    if (!response.headers.get('content-type').startsWith('text/event-stream')) return response.json();
    const results = resultsOf(response);
    // Of a generator, return() would wait for the next event.
    const iterator = {
      next: () => results.next().catch((error) => {
        if (controller.signal.aborted) return { done: true };
        throw error;
      }),
      return: async () => {
        controller.abort();
        return { done: true };
      },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  },
});
async function* resultsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + value).split('\\n\\n');
    text = events.pop();
    for (const event of events) {
      const result = /^event: next\\ndata: (.*)$/.exec(event);
      if (result) yield JSON.parse(result[1]);
    }
  }
}
`;
}

/** A text as a script inside HTML writes it. */
function scriptText(text: string): string {
  return JSON.stringify(text).replaceAll('<', '\\u003c');
}

/** The parts of a page. */
interface HtmlPage {
  readonly title: string;
  /** The addresses of what it loads, from this server. */
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  /** Of the element that the scripts fill. */
  readonly elementId: string;
  /** What runs when the scripts are loaded. */
  readonly start: string;
  /** Sources of the Content-Security-Policy beyond the scripts and styles, by directive. */
  readonly sources: PolicySources;
}

/**
 * A page whose scripts make its content. Its policy allows no other host, and no script but this server's and the
 * page's own, by its digest (Content Security Policy Level 3, section 2.3.1).
 */
function htmlPage({ title, styles, scripts, elementId, start, sources }: HtmlPage): StaticResponse {
  const lines = [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    `<title>${title}</title>`,
    // Without it, browsers request /favicon.ico.
    '<link rel="icon" href="data:,">',
    '<style>html, body { height: 100%; margin: 0 }</style>',
    ...styles.map((address) => `<link rel="stylesheet" href="${address}">`),
    `<div id="${elementId}" style="height: 100%"></div>`,
    '<noscript>This page needs JavaScript.</noscript>',
    ...scripts.map((address) => `<script src="${address}"></script>`),
    `<script>${start}</script>`,
    '</html>',
    '',
  ];
  return {
    mediaType: 'text/html; charset=utf-8',
    body: lines.join('\n'),
    headers: { 'content-security-policy': policyOf(start, sources) },
  };
}

function policyOf(start: string, sources: PolicySources): string {
  const digest = createHash('sha256').update(start).digest('base64');
  return pagePolicy({
    'script-src': ["'self'", `'sha256-${digest}'`],
    // Both pages' libraries write styles into elements; what could be injected so is how they look.
    'style-src': ["'self'", "'unsafe-inline'"],
    'connect-src': ["'self'"],
    ...sources,
  });
}
