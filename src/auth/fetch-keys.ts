import type { JSONWebKeySet } from 'jose';

/** In milliseconds. */
const FETCH_LIMIT = 3_000;
const MOST_BYTES = 512 * 1024;

const RIGHT_ADDRESS =
  'AUTH_JWKS_URL should be the address that the OpenID configuration of the identity provider has in "jwks_uri"';

/**
 * Fetches a set of keys (RFC 7517, section 5). No redirect is followed: the keys are where the setting says.
 *
 * @throws Error, whose message says to whoever runs the service what is wrong there.
 */
export async function fetchKeys(url: URL): Promise<JSONWebKeySet> {
  const response = await request(url);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the answer has the status ${response.status}: ${adviceOn(response)}`);
  }
  return keysIn(await readBounded(response), response.headers.get('content-type'));
}

async function request(url: URL): Promise<Response> {
  try {
    return await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(FETCH_LIMIT),
      headers: { accept: 'application/jwk-set+json, application/json' },
    });
  } catch (error) {
    throw new Error(connectionFailure(error), { cause: error });
  }
}

/** What fetch() says itself is no more than that it failed. */
function connectionFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `there is no answer within ${FETCH_LIMIT / 1000} seconds`;
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = 'code' in cause ? String(cause.code) : '';
  return cause.message.includes(code) ? cause.message : `${code} ${cause.message}`.trim();
}

function adviceOn({ status }: Response): string {
  return status >= 500 ? 'the identity provider fails' : RIGHT_ADDRESS;
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new Error(`the answer has more than ${MOST_BYTES} bytes: ${RIGHT_ADDRESS}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function keysIn(text: string, mediaType: string | null): JSONWebKeySet {
  const value = parse(text);
  if (value === undefined)
    throw new Error(`the answer is no JSON but ${mediaType ?? 'text'}: ${RIGHT_ADDRESS}`);
  if (isKeySet(value)) return value;
  const found = isObject(value) && 'jwks_uri' in value;
  throw new Error(
    `the answer is ${found ? 'an OpenID configuration and ' : ''}no set of keys: ${RIGHT_ADDRESS}`,
  );
}

/** Undefined where it is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  return isObject(value) && 'keys' in value && Array.isArray(value.keys) && value.keys.every(isObject);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
