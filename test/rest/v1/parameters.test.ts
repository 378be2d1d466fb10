import { expect, test } from 'vitest';

import { type Parameter, readParameters } from '../../../src/rest/v1/parameters.js';

const TEXT = { description: 'A text.', example: 'a' };

const PARAMETERS: readonly Parameter[] = [
  { ...TEXT, name: 'domain', in: 'path', schema: { type: 'string' } },
  { ...TEXT, name: 'from', schema: { type: 'string', enum: ['a', '+1 2'] }, required: true },
  { ...TEXT, name: 'order', schema: { type: 'string', default: 'OLDEST_FIRST' } },
  { ...TEXT, name: 'kinds', schema: { type: 'array', items: { type: 'string' } } },
];

const read = (query: string) => readParameters(PARAMETERS, 'b%C3%BCcher.example', new URLSearchParams(query));

test('an operation gets the decoded values of its parameters, all values of a list, and the default of an absent one', () => {
  const variables = { domain: 'bücher.example', from: '+1 2', order: 'OLDEST_FIRST', kinds: ['a', '&'] };
  expect(read('from=%2B1+2&kinds=a&kinds=%26').variables).toEqual(variables);
});

test.each([
  ['from=a&domain=b', 'Unknown query parameter "domain". This operation has: from, order, kinds.'],
  ['from=a&From', 'Unknown query parameter "From". This operation has: from, order, kinds.'],
  ['', 'The query must have the parameter from.'],
  ['from=a&from=a', 'The query parameter from is given more than once.'],
  ['from=wrong', 'from: "wrong" is not one of a, +1 2.'],
])('the query "%s" is rejected, with what is wrong', (query, message) => {
  expect(() => read(query)).toThrow(expect.objectContaining({ code: 'INVALID_PARAMETER', message }));
});
