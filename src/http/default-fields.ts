import type { Response } from 'express';
import { DATA_POLICY } from './content-security-policy.js';

/**
 * The header fields of every answer. Who makes the answer may replace each: a page its policy, an answer
 * that may be kept its Cache-Control (what nobody has thought of is not kept).
 *
 * There is no Strict-Transport-Security: the server speaks plain HTTP, and only what speaks TLS before it
 * knows whether all of its host does.
 */
export const DEFAULT_FIELDS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': DATA_POLICY,
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** What decides about an answer besides its address (RFC 9110, section 12.5.5). */
export const VARY = 'Accept-Encoding, Authorization';

/**
 * Makes the function that sets the fields that every answer has.
 *
 * @param variesByOrigin Whether the answer is another for another site's page.
 */
export function defaultFields(variesByOrigin: boolean): (response: Response) => void {
  const fields = Object.entries({ ...DEFAULT_FIELDS, vary: variesByOrigin ? `${VARY}, Origin` : VARY });
  return (response) => {
    for (const [name, value] of fields) response.setHeader(name, value);
  };
}
