import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvOf } from '../../web/src/csv.js';
import { partsOf, type RecordEntry, rdataOf } from '../../web/src/records.js';
import {
  compareTexts,
  partsOf as partsOfText,
  visiblePieces,
  visibleText,
} from '../../web/src/text-parts.js';
import { anyCharacter } from '../support/any-character.js';

/** Characters that hide others, or change their direction or lines. */
const HOSTILE = [
  ...'\u0000\u0007\u001b\u007f\u0085\u009b\u00ad\u061c\u115f\u180e\u200b\u200d\u200e\u200f\u2028\u2029\u202a',
  ...'\u202e\u2060\u2066\u2069\ufe0f\u034f\u3164\ufeff\uffa0\ufff9\u00a0\u3000\ue000\u{e0041}\ud800',
];

test.each(HOSTILE)('a text that someone else has written shows %j by its code point', (character) => {
  const codePoint = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
  expect(visiblePieces(`a${character}b`)).toEqual(['a', { codePoint }, 'b']);
});

test('a text that someone else has written is otherwise as it is: markup, letters of other scripts, and emoji', () => {
  for (const text of ['<script>alert(1)</script>', 'bücher Москва שלום 日本', '😀', '', 'a b  c']) {
    expect(visibleText(text)).toBe(text);
  }
});

test('a text that someone else has written keeps every character that is shown, in its place', () => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: anyCharacter })) });
  fc.assert(
    fc.property(text, (value) => {
      const restored = visiblePieces(value).map((piece) =>
        typeof piece === 'string'
          ? piece
          : String.fromCodePoint(Number.parseInt(piece.codePoint.slice(2), 16)),
      );
      expect(restored.join('')).toBe(value);
      expect(visibleText(value)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
    }),
  );
});

const common = { host: 'a.example', class: 'IN', rdata: '', firstSeen: '', lastSeen: '', removed: null };
const record = <Own extends object>(own: Own) => ({ ...common, ...own });
const other = (type: string, data: string): RecordEntry => record({ __typename: 'OtherRecord', type, data });
const authority = (tag: string, value: string): RecordEntry =>
  record({ __typename: 'CaaRecord', type: 'CAA', flags: 0, tag, value });
const HINTS =
  '1 svc.example. alpn="h2,a.b." ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1 key9="x \\" y.z."';
const HINTED = [{ target: 'svc.example' }, { ip: '192.0.2.1' }, { ip: '192.0.2.2' }, { ip: '2001:db8::1' }];
const searchesOf = (entry: RecordEntry) =>
  rdataOf(entry)
    .flatMap(([name, value]) => partsOf(entry, name, String(value)))
    .flatMap(({ search }) => (search === null ? [] : [search]));

test.each<[RecordEntry, object[]]>([
  [record({ __typename: 'ARecord', type: 'A', ip: '192.0.2.1' }), [{ ip: '192.0.2.1' }]],
  [other('HTTPS', HINTS), HINTED],
  [other('HTTPS', '1 . ipv4hint=192.0.2.1'), [{ ip: '192.0.2.1' }]],
  [other('DNAME', 'a\\.b.example.'), [{ target: 'a\\.b.example' }]],
  [other('RP', 'admin.a.example. .'), [{ q: 'admin.a.example' }]],
  [other('L64', '10 2001:db8:1:2'), []],
  [other('SPF', '"v=spf1 ip4:192.0.2.1 a.example. -all"'), []],
  [other('TYPE65534', '\\# 4 0A000001'), []],
  [authority('issue', ' ca.example ; policy=ev'), [{ target: 'ca.example' }]],
  [authority('ISSUEWILD', 'ca.example'), [{ target: 'ca.example' }]],
  [authority('issue', ';'), []],
  [authority('issue', 'no authority'), []],
  [authority('iodef', 'mailto:a@example.com'), []],
])('of a record, the addresses and host names lead to a search: %j', (entry, searches) => {
  expect(searchesOf(entry)).toEqual(searches);
});

test('the text of a record whose parts lead to searches stays as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'"\\ ,=.:;a1\n') }), (text) => {
      for (const entry of [other('HTTPS', text), authority('issue', text)]) {
        const [name = '', value] = rdataOf(entry).at(-1) ?? [];
        const parts = partsOf(entry, name, String(value));
        expect(parts.map((part) => part.text).join('')).toBe(text);
      }
    }),
    { numRuns: 1_000 },
  );
});

const sides = (before: string, after: string) => {
  const parts = compareTexts(before, after);
  const of = (...sides: string[]) => parts.filter((part) => sides.includes(part.in)).map(({ text }) => text);
  const [old, added] = [of('both', 'old').join(''), of('both', 'new').join('')];
  return { old, new: added, removed: of('old'), added: of('new') };
};

test.each([
  ['v=spf1 mx -all', 'v=spf1 mx include:_spf.example.net -all', [], ['include:_spf.example.net ']],
  ["a 'self'; b *; c 'self'", "a 'self'; c 'self' cdn", ['b *; ', "'self'"], ["'self' cdn"]],
  ['max-age=0, no-cache', 'max-age=60, no-cache', ['max-age=0, '], ['max-age=60, ']],
])('the values %j and %j differ in these parts', (before, after, removed, added) => {
  expect(sides(before, after)).toEqual({ old: before, new: after, removed, added });
});

test('two values that are compared are both complete on their sides, whatever they are', () => {
  const value = fc
    .array(fc.constantFrom('a', 'b', 'a=1', ' ', ';', '; ', ', ', '\t', 'é'))
    .map((all) => all.join(''));
  fc.assert(
    fc.property(value, value, (before, after) => {
      expect(sides(before, after)).toMatchObject({ old: before, new: after });
      expect(partsOfText(before).join('')).toBe(before);
    }),
  );
});

test('two values that differ in very many parts are compared as a whole', () => {
  const many = (name: string) => Array.from({ length: 4_000 }, (_, part) => `${name}${part}`).join(' ');
  const [before, after] = [many('a'), many('b')];
  expect(sides(before, after)).toEqual({ old: before, new: after, removed: [before], added: [after] });
});

const table = (value: string) => csvOf({ columns: ['name', 'value'], rows: [{ name: 'a,b', value }] });

test('a CSV file has a line of names, and values with commas, quotes and lines in quotes (RFC 4180)', () => {
  expect(table('say "x"\r\ny')).toBe('name,value\r\n"a,b","say ""x""\r\ny"\r\n');
});

test('a CSV file has nothing that spreadsheets execute: a formula begins with an apostrophe', () => {
  for (const value of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1'])
    expect(table(value)).toBe(`name,value\r\n"a,b",'${value}\r\n`);
  expect(table('\r=1')).toBe(`name,value\r\n"a,b","'\r=1"\r\n`);
});
