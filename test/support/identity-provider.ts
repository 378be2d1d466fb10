import { CompactSign, exportJWK, exportSPKI, generateKeyPair, type JWTPayload } from 'jose';
import { startHttpServer } from './web-server.js';

export const ISSUER = 'https://id.example.com/';
export const AUDIENCE = 'dms';

/** What a token of the provider is to be, beside a good one's. */
export interface TestJwt {
  /** Claims in the place of a good token's; undefined: without that claim. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The claims as they are written, in the place of all others. */
  readonly payload?: string;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: string;
}

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>> & { readonly algorithm: string };

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

/** Starts a provider on loopback, whose keys are served over HTTP: at first one, named `first`. */
export async function startIdentityProvider() {
  const web = await startHttpServer();
  const pairs = new Map<string, KeyPair>();
  const served = new Set<string>();
  const pairOf = (kid: string): KeyPair => {
    const pair = pairs.get(kid);
    if (pair === undefined) throw new Error(`no key ${kid}`);
    return pair;
  };
  const publicKey = async (kid: string) => ({ ...(await exportJWK(pairOf(kid).publicKey)), kid, use: 'sig' });
  /** The keys that are served (RFC 7517, section 4). */
  const publicKeys = () => Promise.all([...served].map(publicKey));
  const serve = async () => {
    const keys = await publicKeys();
    web.serve({ fields: [['content-type', 'application/jwk-set+json']], body: JSON.stringify({ keys }) });
  };
  /** Makes a key, which signs by its `kid`; it is served from now on, unless told otherwise. */
  const addKey = async (kid: string, algorithm = 'ES256', isServed = true) => {
    pairs.set(kid, { ...(await generateKeyPair(algorithm, { extractable: true })), algorithm });
    if (isServed) served.add(kid);
    await serve();
  };
  await addKey('first');
  return {
    web,
    jwksUrl: new URL(`http://127.0.0.1:${web.port}/jwks.json`),
    fetches: () => web.requests.length,
    addKey,
    removeKey(kid: string) {
      served.delete(kid);
      return serve();
    },
    publicKeys,
    /** A public key as text (RFC 7468, section 13). */
    publicKeyText: (kid: string) => exportSPKI(pairOf(kid).publicKey),
    async sign({ claims = {}, payload, header = {}, key = 'first' }: TestJwt = {}) {
      const { privateKey, algorithm } = pairOf(key);
      const fields = { alg: algorithm, kid: key, typ: 'at+jwt', ...header };
      const octets = new TextEncoder().encode(payload ?? JSON.stringify(goodClaims(claims)));
      return new CompactSign(octets).setProtectedHeader(fields).sign(privateKey, { crit: { x: true } });
    },
  };
}

export function goodClaims(claims: Readonly<Record<string, unknown>> = {}): JWTPayload {
  const now = Math.floor(Date.now() / 1000);
  return { iss: ISSUER, aud: AUDIENCE, sub: 'alice', iat: now, exp: now + 300, scope: 'dns:read', ...claims };
}
