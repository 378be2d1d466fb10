import { readFileSync } from 'node:fs';
import type { ApolloServerPlugin } from '@apollo/server';
import { ApolloServerPluginLandingPageLocalDefault } from '@apollo/server/plugin/landingPage/default';

/** The ready queries as a part of an address, where short selections in one line and tabs are shorter. */
export function sandboxDocument(): string {
  return readFileSync(new URL('../../samples/queries.graphql', import.meta.url), 'utf8')
    .replaceAll(
      /\{([^{}]{1,120})\}/g,
      (_set, fields: string) => `{ ${fields.trim().replaceAll(/\s+/g, ' ')} }`,
    )
    .replaceAll(/(?<=^ *) {2}/gm, '\t');
}

export function sandboxPlugin(): ApolloServerPlugin {
  return ApolloServerPluginLandingPageLocalDefault({
    embed: { runTelemetry: false, endpointIsEditable: false, initialState: { pollForSchemaUpdates: false } },
    includeCookies: false,
    document: sandboxDocument(),
    variables: { domain: 'example.com' },
  });
}

/** For Apollo's script, frame, icon and font. The script sends the frame's requests to this server. */
export function sandboxPolicy(html: string): string {
  const nonce = /'(nonce-[0-9a-f]+)'/.exec(html)?.[1];
  if (nonce === undefined) throw new Error("Apollo's page has no nonce for its scripts.");
  return [
    "default-src 'none'",
    `script-src '${nonce}' https://embeddable-sandbox.cdn.apollographql.com`,
    `style-src '${nonce}' https://embeddable-sandbox.cdn.apollographql.com https://fonts.googleapis.com`,
    'font-src https://fonts.gstatic.com',
    'img-src https://apollo-server-landing-page.cdn.apollographql.com',
    'manifest-src https://apollo-server-landing-page.cdn.apollographql.com',
    'frame-src https://sandbox.embed.apollographql.com',
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; ');
}
