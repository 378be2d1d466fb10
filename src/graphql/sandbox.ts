import { readFileSync } from 'node:fs';
import type { ApolloServerPlugin } from '@apollo/server';
import { ApolloServerPluginLandingPageLocalDefault } from '@apollo/server/plugin/landingPage/default';

const QUERIES_FILE = new URL('../../samples/queries.graphql', import.meta.url);

/** Apollo Sandbox at `GET /graphql`, opened with the ready queries of samples/queries.graphql. */
export function sandboxPlugin(): ApolloServerPlugin {
  return ApolloServerPluginLandingPageLocalDefault({
    embed: { runTelemetry: false, endpointIsEditable: false, initialState: { pollForSchemaUpdates: false } },
    includeCookies: false,
    document: readFileSync(QUERIES_FILE, 'utf8'),
    variables: { domain: 'example.com' },
  });
}

/**
 * What the page may load, and nothing else: Apollo's script, its frame, and the icon and font that the page
 * names. The script in the page asks this server for what the frame wants to know. Nonces are made anew for
 * each page.
 */
export function sandboxPolicy(html: string): string {
  const nonce = /'(nonce-[0-9a-f]+)'/.exec(html)?.[1] ?? '';
  const sources: Readonly<Record<string, string>> = {
    'default-src': "'none'",
    'script-src': `'${nonce}' https://embeddable-sandbox.cdn.apollographql.com`,
    'style-src': `'${nonce}' https://embeddable-sandbox.cdn.apollographql.com https://fonts.googleapis.com`,
    'font-src': 'https://fonts.gstatic.com',
    'img-src': 'https://apollo-server-landing-page.cdn.apollographql.com',
    'manifest-src': 'https://apollo-server-landing-page.cdn.apollographql.com',
    'frame-src': 'https://sandbox.embed.apollographql.com',
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  };
  return Object.entries(sources)
    .map(([directive, list]) => `${directive} ${list}`)
    .join('; ');
}
