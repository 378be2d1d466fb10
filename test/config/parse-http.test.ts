import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { UsageError } from '../../src/model/errors.js';

const corsOrigins = (value: string) => readSettings({ CORS_ORIGINS: value }).http.corsOrigins;

describe('CORS_ORIGINS', () => {
  test('names no origin, all, or a list', () => {
    expect(readSettings({}).http).toEqual({ maxAge: 0, corsOrigins: [] });
    expect(corsOrigins('*')).toBe('*');
    expect(corsOrigins('https://app.example, http://localhost:3000')).toEqual([
      'https://app.example',
      'http://localhost:3000',
    ]);
  });

  test.each([
    ['https://app.example/', 'write https://app.example in the place of https://app.example/'],
    ['HTTPS://APP.example', 'write https://app.example in the place of HTTPS://APP.example'],
    ['https://bücher.example', 'write https://xn--bcher-kva.example in the place of https://bücher.example'],
    ['app.example', 'app.example is no origin; write origins between commas'],
    ['null', 'null is no origin'],
    ['*,https://app.example', '* names no single origin; name each one, or write * alone for all'],
    ['https://*.app.example', 'https://*.app.example names no single origin; name each one'],
    ['file:///x', 'file:///x is no origin'],
  ])('%s stops the start with the advice: %s', (value, advice) => {
    expect(() => corsOrigins(value)).toThrow(UsageError);
    expect(() => corsOrigins(value)).toThrow(`CORS_ORIGINS is ${JSON.stringify(value)}: ${advice}`);
  });
});

test.each(['-1', 'x', '1.5', '31536001'])('HTTP_MAX_AGE=%s stops the start', (value) => {
  expect(() => readSettings({ HTTP_MAX_AGE: value })).toThrow(
    `HTTP_MAX_AGE is "${value}": write a whole number from 0 to 31536000.`,
  );
});
