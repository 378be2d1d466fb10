import fc from 'fast-check';
import { codedBodies } from './fuzz-bodies.js';
import { bodiesOfLongNames } from './fuzz-names.js';
import { type FuzzRequest, requestOf } from './fuzz-requests.js';
import { type FuzzToken, fuzzTokens } from './fuzz-tokens.js';

const JSON_TYPE = ['content-type', 'application/json'] as const;
const QUESTION = Buffer.from('{"query":"{ domain(name: \\"example.com\\") { name } }"}');

/** Requests with the tokens of an identity provider, to both APIs. */
export function requestsWithTokens(signed: readonly FuzzToken[]): fc.Arbitrary<FuzzRequest> {
  const place = fc.constantFrom('/dns', '/details', '/headers', '', 'graphql');
  return fc.tuple(fuzzTokens(signed), place).map(([{ token, valid, damaged = false }, where]) => {
    const authorization = ['authorization', `Bearer ${token}`] as const;
    const parts =
      where === 'graphql'
        ? { method: 'POST', target: '/graphql', fields: [JSON_TYPE, authorization], body: QUESTION }
        : { method: 'GET', target: `/api/v1/domain/example.com${where}`, fields: [authorization] };
    if (valid) return { ...requestOf('JWT right', parts), statuses: [200] };
    // A header section of more than 16 KiB is not read.
    if (!damaged) return { ...requestOf('JWT wrong', parts), statuses: [401, 431] };
    return { ...requestOf('JWT damaged', parts), statuses: [400, 401, 431] };
  });
}

export const requestsWithCodedBodies: fc.Arbitrary<FuzzRequest> = codedBodies.map(
  ({ coding, octets, right }) => {
    const fields = [JSON_TYPE, ['content-encoding', coding] as const];
    const request = requestOf(right === true ? 'compressed right' : 'compressed', {
      method: 'POST',
      target: '/graphql',
      fields,
      body: octets,
    });
    return right === true ? { ...request, statuses: [200] } : request;
  },
);

export const requestsWithLongNames: fc.Arbitrary<FuzzRequest> = bodiesOfLongNames.map((body) =>
  requestOf('long names', { method: 'POST', target: '/graphql', fields: [JSON_TYPE], body }),
);
