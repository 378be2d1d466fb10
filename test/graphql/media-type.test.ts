import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EVENTS, PARTS } from '../../src/graphql/event-stream.js';
import { acceptedBy } from '../../src/graphql/request.js';
import { ACCEPT_PARTS } from '../support/events.js';

const JSON_UTF_8 = 'application/json; charset=utf-8';
const GRAPHQL_UTF_8 = 'application/graphql-response+json; charset=utf-8';

function requestFor(accept: string | undefined) {
  return { headers: accept === undefined ? {} : { accept } };
}

test.each([
  [undefined, JSON_UTF_8, false],
  ['*/*', JSON_UTF_8, false],
  ['application/json', JSON_UTF_8, false],
  ['application/json; charset=koi8-r', undefined, false],
  ['application/graphql-response+json; charset=utf-8', GRAPHQL_UTF_8, false],
  ['application/graphql-response+json, application/json;q=0.9', GRAPHQL_UTF_8, false],
  ['application/json; charset=utf-8, text/html;q=0.5', JSON_UTF_8, false],
  ['multipart/mixed, text/html;q=0.9, application/json;q=0.1', JSON_UTF_8, false],
  ['text/html', undefined, true],
  ['text/html,application/xhtml+xml,*/*;q=0.8', JSON_UTF_8, true],
  ['image/png', undefined, false],
])('a client that accepts %s gets a response in %s; the page: %s', (accept, mediaType, page) => {
  expect(acceptedBy(requestFor(accept))).toMatchObject({ mediaType, page });
});

test.each([
  [undefined, EVENTS],
  ['*/*', EVENTS],
  ['text/event-stream', EVENTS],
  ['application/json', undefined],
  ['multipart/mixed;deferSpec=20220824,application/json', undefined],
  ['multipart/mixed;subscriptionSpec=1.05', undefined],
  [ACCEPT_PARTS, PARTS],
  ['multipart/mixed; boundary="graphql"; subscriptionSpec="1.0", application/json', PARTS],
  ['application/json, Multipart/Mixed;SubscriptionSpec=1.0;q=0.5', PARTS],
  ['multipart/mixed;subscriptionSpec=1.0, text/event-stream', PARTS],
  ['multipart/mixed;subscriptionSpec=1.0;q=0.5, text/event-stream', EVENTS],
  ['multipart/mixed;subscriptionSpec=1.0;q=0, application/json', undefined],
  ['multipart/mixed;subscriptionSpec=1.0;q=0, */*', EVENTS],
])('a client that accepts %s gets a subscription as %o', (accept, stream) => {
  expect(acceptedBy(requestFor(accept)).stream).toBe(stream);
});

test('a chosen type is chosen again by a client that accepts it alone, and is not a page', () => {
  const ranges = fc.constantFrom(
    ...['application/json', JSON_UTF_8, GRAPHQL_UTF_8, 'application/*', '*/*', 'text/html', 'text/*'],
    ...['multipart/mixed', 'multipart/mixed; deferSpec=20220824', 'multipart/*', 'image/png'],
  );
  const weighed = fc.tuple(ranges, fc.constantFrom('', ';q=0', ';q=0.1', ';q=0.5', ';q=0.9'));
  fc.assert(
    fc.property(fc.array(weighed, { maxLength: 5 }), (parts) => {
      const accept = parts.map(([range, quality]) => range + quality).join(', ');
      const chosen = acceptedBy(requestFor(accept)).mediaType ?? '*/*;q=0';
      expect(acceptedBy(requestFor(chosen)).mediaType ?? '*/*;q=0').toBe(chosen);
      expect(acceptedBy(requestFor(chosen)).page).toBe(false);
    }),
  );
});
