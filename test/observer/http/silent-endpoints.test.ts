import { expect, test } from 'vitest';
import { SilentEndpoints } from '../../../src/observer/http/silent-endpoints.js';

const SECOND = 1000;

function afterVisits(visits: number): SilentEndpoints {
  const endpoints = new SilentEndpoints();
  for (let visit = 0; visit < visits; visit += 1) endpoints.noteSilence('192.0.2.7:443', 0);
  return endpoints;
}

test('an endpoint is left alone for half a minute when eight visits in a row had no answer in time', () => {
  expect(afterVisits(7).isSilent('192.0.2.7:443', SECOND)).toBe(false);
  expect(afterVisits(8).isSilent('192.0.2.7:443', 29 * SECOND)).toBe(true);
});

test('other ports of the address are endpoints of their own', () => {
  expect(afterVisits(8).isSilent('192.0.2.7:80', SECOND)).toBe(false);
});

test('an answer between the visits makes them count anew', () => {
  const endpoints = afterVisits(7);
  endpoints.noteAnswer('192.0.2.7:443');
  endpoints.noteSilence('192.0.2.7:443', 0);
  expect(endpoints.isSilent('192.0.2.7:443', SECOND)).toBe(false);
});

test('after the half minute one visit is let through, and the others when it is answered', () => {
  const endpoints = afterVisits(8);
  expect(endpoints.isSilent('192.0.2.7:443', 30 * SECOND)).toBe(false);
  expect(endpoints.isSilent('192.0.2.7:443', 31 * SECOND)).toBe(true);
  endpoints.noteAnswer('192.0.2.7:443');
  expect(endpoints.isSilent('192.0.2.7:443', 32 * SECOND)).toBe(false);
});
