import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDomainName, unicodeName } from '../../src/model/domain-name.js';
import { InvalidDomainError } from '../../src/model/errors.js';
import { canonicalHostName } from '../../src/model/host-name.js';
import { registrableDomain } from '../../src/model/registrable-domain.js';
import { anyCharacter } from '../support/any-character.js';
import { expectRejected, resultOf } from '../support/rejections.js';

const label63 = 'a'.repeat(63);
/** 253 characters in four labels. */
const longest = `${label63}.${label63}.${label63}.${'a'.repeat(61)}`;

test.each([
  ['EXAMPLE.com.', 'example.com'],
  ['com.', 'com'],
  ['_dmarc.Example.COM', '_dmarc.example.com'],
  ['1.2.3.4a', '1.2.3.4a'],
  ['1.0xffffffff', '1.0xffffffff'],
  ['BÜCHER.example', 'xn--bcher-kva.example'],
  ['bu\u0308cher.example', 'xn--bcher-kva.example'],
  ['faß.example', 'xn--fa-hia.example'],
  ['ΒΌΛΟΣ.com', 'xn--nxasmq6b.com'],
  ['日本語。ＪＰ', 'xn--wgv71a119e.jp'],
  ['a\uff0eb\uff61example\u3002', 'a.b.example'],
  ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
  ['xn--a.example', 'xn--a.example'],
  ['-blah-.-.example.cz', '-blah-.-.example.cz'],
  ['-Ü.example', 'xn----eha.example'],
  ['i❤\ufe0f.ws', 'xn--i-7iq.ws'],
  ['r3---sn.надвор’е.бел', 'r3---sn.xn--80aeff0bjo6418c.xn--90ais'],
  [`${longest}.`, longest],
])('the domain %s is %s', (text, name) => {
  expect(parseDomainName(text)).toBe(name);
  expect(parseDomainName(name)).toBe(name);
});

test('a canonical name of a domain stays as it is', () => {
  const label = fc.stringMatching(/^[a-z0-9_-]{1,22}$/);
  fc.assert(
    fc.property(fc.array(label, { minLength: 1, maxLength: 8 }), (labels) => {
      fc.pre(!/^\d+$|^-|-$/.test(labels.at(-1) ?? ''));
      const name = labels.join('.');
      expect(parseDomainName(name)).toBe(name);
      expect(parseDomainName(`${name.toUpperCase()}.`)).toBe(name);
    }),
  );
});

const domainOf = (text: string) => resultOf(() => parseDomainName(text), InvalidDomainError);

function textOf(...pieces: readonly string[]) {
  const part = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 4 }), fc.constantFrom(...pieces));
  return fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''));
}

test('any text is either rejected or given a name of a domain that holds to the rules and stays as it is', () => {
  fc.assert(
    fc.property(textOf(...'.|a|-|_|1|xn--|ü|ß|%|/|@|。'.split('|')), (text) => {
      const name = domainOf(text);
      fc.pre(name !== undefined);
      expect(name).toMatch(/^(?:[a-z0-9_-]{1,63}\.)*(?!-|\d+$)[a-z0-9_-]{1,63}(?<!-)$/);
      expect(parseDomainName(name)).toBe(name);
    }),
    { numRuns: 500, maxSkipsPerRun: 1000 },
  );
});

test.each([
  ['an empty label', '', '.', 'a..b', '.example', 'example..'],
  ['"\\u{ad}" has no form in ASCII', '\u00ad.example'],
  ['longer than 63 characters', `${label63}a.example`, `${'ü'.repeat(70)}.example`],
  ['longer than 253 characters', `a.${longest}`, 'ü.'.repeat(100_000)],
  ['begins or ends with "-"', 'a.-', 'example.com-', 'a.-b', '-'],
  ['all digits', '123', 'a.１２', '1.2.3.4.5'],
  ['an IP address', '192.0.2.7', '2001:db8::1'],
  ['only letters, digits, "-" and "_"', '*.example', ' example.com', 'example.com\n', 'a\0b', 'a\\.b'],
  ['only letters', 'example.com:80', 'http://example.com', '%41.example'],
  ['no form in ASCII', 'ü/evil.example', 'ü@b.example', 'ü%41.example', 'ü:80', 'ü\tb.example', 'a\u2024b'],
  ['no form in ASCII', 'xn--a-ä.example', '\ud800.example', 'a\ufffd.example', `${'ü'.repeat(300)}.example`],
  [String.raw`"a\nb" is not a domain name: its labels may hold only letters`, 'a\nb'],
  [`"${'!'.repeat(64)}…" is not a domain name`, '!'.repeat(10_000)],
])('a text is no name of a domain: %s', (reason, ...texts) => {
  for (const text of texts) expectRejected(() => parseDomainName(text), reason, InvalidDomainError);
});

test.each([
  ['xn--bcher-kva.example', 'bücher.example'],
  ['www.xn--fa-hia.xn--wgv71a119e', 'www.faß.日本語'],
  ['xn--a.xn--bcher-kva', 'xn--a.bücher'],
  ['xn--v86cr064b.example', 'xn--v86cr064b.example'],
  ['xn--i-7iq.ws', 'i❤.ws'],
])('the name of %s for people is %s', (name, shown) => {
  expect(unicodeName(name)).toBe(shown);
});

test('the name for people leads back to the canonical name', () => {
  const label = fc.oneof(
    fc.stringMatching(/^xn--[a-z0-9]{1,12}$/),
    fc.stringMatching(/^xn--[a-z]{1,4}-[a-z0-9]{1,6}$/),
    fc.string({ unit: anyCharacter, maxLength: 5 }).map((text) => domainOf(`${text}.x`)?.slice(0, -2) ?? 'a'),
  );
  fc.assert(
    fc.property(fc.array(label, { minLength: 1, maxLength: 3 }), (labels) => {
      const name = `${labels.join('.')}.example`;
      expect(parseDomainName(unicodeName(name))).toBe(name);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['a.b.example.com', 'example.com'],
  ['www.example.co.uk', 'example.co.uk'],
  ['co.uk', null],
  ['localhost', null],
  ['www.example.unlisted', 'example.unlisted'],
  ['page.github.io', 'page.github.io'],
  ['github.io', null],
  ['a.b.ck', 'a.b.ck'],
  ['a.b.xn--55qx5d.cn', 'b.xn--55qx5d.cn'],
  ['_dmarc.ex_ample.com', 'ex_ample.com'],
  ['a.b.0x7', 'b.0x7'],
])('the registrable domain of %s is %s', (name, registrable) => {
  expect(registrableDomain(name)).toBe(registrable);
});

test.each([
  ['NS1.Example.COM.', 'ns1.example.com'],
  ['.', '.'],
  ['', '.'],
  ['*.example.com', '*.example.com'],
  ['192.0.2.7', '192.0.2.7'],
  ['0/25.2.0.192.in-addr.arpa', '0/25.2.0.192.in-addr.arpa'],
  [String.raw`host\.master.Example.com`, String.raw`host\.master.example.com`],
  [String.raw`\069\120ample.com`, 'example.com'],
  [String.raw`a\\b.example`, String.raw`a\\b.example`],
  ['a b.example', String.raw`a\032b.example`],
  [String.raw`a\000\255.example`, String.raw`a\000\255.example`],
  ['a\tb\u007f.example', String.raw`a\009b\127.example`],
  ['";()@$.example', String.raw`\"\;\(\)\@\$.example`],
  ["a'{}!#%&+,/:<=>?[]^`|~.example", "a'{}!#%&+,/:<=>?[]^`|~.example"],
  [String.raw`example.com\.`, String.raw`example.com\.`],
  ['bücher。example。', 'xn--bcher-kva.example'],
  [String.raw`b\195\188cher.example`, String.raw`b\195\188cher.example`],
  [`${longest}.`, longest],
  [longest.replaceAll('a', '\\000'), longest.replaceAll('a', '\\000')],
])('the host name %j is %s', (text, name) => {
  expect(canonicalHostName(text)).toBe(name);
  expect(canonicalHostName(name)).toBe(name);
});

/** The octets of a canonical name, read as RFC 1035, section 5.1, says. */
function wireLabels(name: string): number[][] {
  const read: number[][] = [[]];
  for (const [, decimal, escaped, plain] of name.matchAll(/\\(\d{3})|\\(.)|(.)/g)) {
    const octet = decimal === undefined ? (escaped ?? plain ?? '').charCodeAt(0) : Number(decimal);
    if (plain === '.') read.push([]);
    else read.at(-1)?.push(octet);
  }
  return read;
}

test('any labels of octets survive in a host name, letters in lower case, and the text stays as it is', () => {
  const octets = fc.uint8Array({ minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(fc.array(octets, { minLength: 1, maxLength: 6 }), (wire) => {
      const labels = wire.map((label) => Array.from(label, (octet) => `\\${String(octet).padStart(3, '0')}`));
      const name = canonicalHostName(labels.map((label) => label.join('')).join('.'));
      const lower = wire.map((label) => Array.from(label, (o) => (o >= 65 && o <= 90 ? o + 32 : o)));
      expect(wireLabels(name)).toEqual(lower);
      expect(name).toMatch(/^[\x21-\x7e]+$/);
      expect(canonicalHostName(name)).toBe(name);
      expect(canonicalHostName(`${name}.`)).toBe(name);
    }),
  );
});

test('any text is either rejected or given a host name that stays as it is', () => {
  fc.assert(
    fc.property(textOf(...String.raw`\|.|\0|\04|\046|a|ü|。|\.`.split('|')), (text) => {
      const name = resultOf(() => canonicalHostName(text));
      fc.pre(name !== undefined);
      expect(canonicalHostName(name)).toBe(name);
    }),
    { numRuns: 500, maxSkipsPerRun: 1000 },
  );
});

test.each([
  ['an empty label', 'a..b', '..', '.a', 'a..'],
  ['a label longer than 63 octets', `${label63}a.example`, `${'\\000'.repeat(64)}.example`],
  ['longer than 255 octets on the wire', `${longest}a`, `a.${longest}`, 'a.'.repeat(100_000)],
  ['after "\\" comes a character or \\000 to \\255', 'a\\', 'a\\25.example', 'a\\256', 'a\\9'],
  ['U+0000; write it as \\000', 'a\0b'],
  ['write octets as \\DDD', 'ü b.example', '*ü.example', String.raw`ü\032.example`, String.raw`\ü.example`],
  ['write octets as \\DDD', '\ud800.example', 'a\ufffd.example'],
])('a text is no host name: %s', (reason, ...texts) => {
  for (const text of texts) expectRejected(() => canonicalHostName(text), reason);
});
