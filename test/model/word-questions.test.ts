import { expect, test } from 'vitest';
import { questionsOf } from '../../src/model/word-questions.js';
import { questionsOfAddress } from '../../web/src/home/questions.js';

/** What is looked for, in short: the domains, or the filter. */
function inShort(written: string) {
  return questionsOf(written).map((question) =>
    question.of === 'domains' ? { match: question.match, name: question.name } : question.where,
  );
}

test.each([
  [
    ' Example.COM. ',
    [{ match: '*example.com*', name: 'example.com' }, { target: 'example.com' }, { text: 'Example.COM.' }],
  ],
  ['shop', [{ match: '*shop*', name: 'shop' }, { text: 'shop' }]],
  ['*shop*', [{ match: '*shop*', name: null }]],
  ['*.example.com', [{ match: '*.example.com', name: null }, { target: '*.example.com' }]],
  ['example.*', [{ match: 'example.*', name: null }]],
  ['.example.com', [{ match: '*.example.com*', name: null }, { text: '.example.com' }]],
  ['de', [{ match: '', name: 'de' }]],
  ['*a*', []],
  ['192.0.2.7', [{ ip: '192.0.2.7' }]],
  ['2001:db8::7', [{ ip: '2001:db8::7' }]],
  ['192.0.2.0/24', [{ network: '192.0.2.0/24' }]],
  ['2001:db8::/32', [{ network: '2001:db8::/32' }]],
  ['Strict-Transport-Security: max-age=0', [{ name: 'strict-transport-security', contains: 'max-age=0' }]],
  ['server: n', []],
  ['v=spf1 -all', [{ text: 'v=spf1 -all' }]],
  ['  ', []],
])('who writes %j may look for %j', (written, questions) => {
  expect(inShort(written)).toEqual(questions);
});

test('a link asks for exactly what its parameters say', () => {
  for (const condition of [{ ip: '192.0.2.7' }, { text: '192.0.2.7' }, { host: '*.example.com' }])
    expect(questionsOfAddress(condition)).toEqual([expect.objectContaining({ where: condition })]);
  for (const part of [{ value: 'nginx' }, { contains: 'nginx' }]) {
    expect(questionsOfAddress({ header: 'server', ...part })).toEqual([
      expect.objectContaining({ where: { name: 'server', ...part } }),
    ]);
  }
});
