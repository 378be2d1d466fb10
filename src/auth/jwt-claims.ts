import type { JWTPayload } from 'jose';
import type { Instant } from '../model/instant.js';
import { digestOf } from './access-token.js';
import { SCOPES, type Viewer } from './viewer.js';

/** A NumericDate may have a fraction (RFC 7519, section 2). Null where it is no time: JSON's 1e400 is Infinity. */
export function endOf({ exp }: JWTPayload): Instant | null {
  const seconds = Math.floor(exp ?? Number.NaN);
  return Number.isSafeInteger(seconds) ? BigInt(seconds) * 1_000_000n : null;
}

/** The viewer's budget is the subject's, whichever token it comes with. Null where the token is nobody's. */
export function viewerOf({ iss, sub, client_id: client, scope, scp }: JWTPayload): Viewer | null {
  const whose = sub ?? client;
  if (typeof whose !== 'string' || whose === '') return null;
  const granted = listOf(scope ?? scp);
  return {
    kind: 'token',
    rateLimitKey: Buffer.from(digestOf(JSON.stringify([iss, whose]))).toString('base64'),
    scopes: new Set(SCOPES.filter((each) => granted.includes(each))),
  };
}

/** A text with blanks between its parts (RFC 8693, section 4.2), or a list, as some providers write it. */
function listOf(claim: unknown): readonly unknown[] {
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) ? claim : [];
}
