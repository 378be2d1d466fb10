import { GraphQLError, parseConstValue } from 'graphql';
import { expect, test } from 'vitest';
import { Timestamp, UnsignedInt } from '../../src/graphql/schema.js';

test('Timestamp is an instant inside and text with six digits outside', () => {
  const text = '2024-03-01T10:20:30.123456Z';
  const instant = 1_709_288_430_123_456n;
  expect(Timestamp.serialize(instant)).toBe(text);
  expect(Timestamp.parseValue(text)).toBe(instant);
  expect(Timestamp.parseLiteral(parseConstValue(JSON.stringify(text)))).toBe(instant);
});

test('Timestamp takes no other value', () => {
  expect(() => Timestamp.serialize('2024-03-01')).toThrow(GraphQLError);
  expect(() => Timestamp.parseValue(0)).toThrow(GraphQLError);
  expect(() => Timestamp.parseValue('yesterday')).toThrow(/is not an RFC 3339 time/);
  expect(() => Timestamp.parseLiteral(parseConstValue('1'))).toThrow(GraphQLError);
});

test.each([0, 2_147_483_648, 4_294_967_295])('UnsignedInt holds %d', (number) => {
  expect(UnsignedInt.serialize(number)).toBe(number);
  expect(UnsignedInt.parseValue(number)).toBe(number);
  expect(UnsignedInt.parseLiteral(parseConstValue(String(number)))).toBe(number);
});

test.each([-1, 4_294_967_296, 0.5, Number.NaN, '1', null])('UnsignedInt takes no %s', (value) => {
  expect(() => UnsignedInt.serialize(value)).toThrow(GraphQLError);
  expect(() => UnsignedInt.parseValue(value)).toThrow(GraphQLError);
});
