import type { FixedAnswer } from './fixed-answer.js';

/** Where it is (RFC 9727, section 2): at the root of the host, whatever the base path. */
export const API_CATALOG_PATH = '/.well-known/api-catalog';

const PROFILE = 'https://www.rfc-editor.org/info/rfc9727';
const JSON_TYPE = 'application/json';
const HTML_TYPE = 'text/html';

/**
 * The list of the two APIs, with their descriptions (RFC 9727, section 4; RFC 9264, section 4.2). The
 * addresses have no host: what this server calls itself is not what it is called through a proxy.
 *
 * @param graphiql Whether there is GraphiQL.
 */
export function apiCatalog(basePath: string, graphiql: boolean): FixedAnswer {
  const rest = `${basePath}/api/v1`;
  const status = [{ href: '/readyz', type: JSON_TYPE, title: 'Whether the service is ready' }];
  const linkset = [
    {
      anchor: rest,
      'service-desc': [{ href: `${rest}/openapi.json`, type: JSON_TYPE, title: 'REST API v1: OpenAPI 3.1' }],
      'service-doc': [{ href: `${rest}/docs`, type: HTML_TYPE, title: 'REST API v1' }],
      status,
    },
    {
      anchor: `${basePath}/graphql`,
      ...(graphiql ? { 'service-doc': [graphiqlOf(basePath)] } : {}),
      status,
    },
  ];
  return {
    mediaType: `application/linkset+json; profile="${PROFILE}"`,
    body: JSON.stringify({ linkset }),
    headers: { link: `<${API_CATALOG_PATH}>; rel="api-catalog"` },
  };
}

function graphiqlOf(basePath: string): object {
  return { href: `${basePath}/graphiql`, type: HTML_TYPE, title: 'GraphQL API: GraphiQL' };
}
