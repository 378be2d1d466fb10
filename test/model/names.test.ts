import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDomainName, unicodeName } from '../../src/model/domain-name.js';
import { InvalidDomainError, InvalidObservationError } from '../../src/model/errors.js';
import { canonicalHostName } from '../../src/model/host-name.js';
import { registrableDomain } from '../../src/model/registrable-domain.js';

const label63 = 'a'.repeat(63);
/** 253 characters in four labels. */
const longest = `${label63}.${label63}.${label63}.${'a'.repeat(61)}`;

test.each([
  ['EXAMPLE.com.', 'example.com'],
  ['com.', 'com'],
  ['a', 'a'],
  ['_dmarc.Example.COM', '_dmarc.example.com'],
  ['under_score.a--b.example', 'under_score.a--b.example'],
  ['1.2.3.example', '1.2.3.example'],
  ['1.2.3.4a', '1.2.3.4a'],
  ['3com', '3com'],
  ['a.0x7', 'a.0x7'],
  ['1.0xffffffff', '1.0xffffffff'],
  ['BÜCHER.example', 'xn--bcher-kva.example'],
  ['bu\u0308cher.example', 'xn--bcher-kva.example'],
  ['faß.example', 'xn--fa-hia.example'],
  ['βόλος.com', 'xn--nxasmm1c.com'],
  ['ΒΌΛΟΣ.com', 'xn--nxasmq6b.com'],
  ['日本語。ＪＰ', 'xn--wgv71a119e.jp'],
  ['a\uff0eb\uff61example\u3002', 'a.b.example'],
  ['ｅｘａｍｐｌｅ.com', 'example.com'],
  ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
  ['xn--a.example', 'xn--a.example'],
  ['xn--0.example', 'xn--0.example'],
  ['www.vilnius-.example.de', 'www.vilnius-.example.de'],
  ['-blah.example.com', '-blah.example.com'],
  ['-.example.cz', '-.example.cz'],
  ['-Ü.example', 'xn----eha.example'],
  ['r3---sn-abc1defghijkl-m2no.example.com', 'r3---sn-abc1defghijkl-m2no.example.com'],
  ['xn--xn---epa.example', 'xn--xn---epa.example'],
  ['☕🦊✈.ws', 'xn--53hy7af013i.ws'],
  ['i❤\ufe0f.ws', 'xn--i-7iq.ws'],
  ['надвор’е.бел', 'xn--80aeff0bjo6418c.xn--90ais'],
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

/** The result for a text, or undefined if it is rejected, which only this error may do. */
function resultOf(
  parse: (text: string) => string,
  text: string,
  Rejection: typeof InvalidDomainError | typeof InvalidObservationError,
) {
  try {
    return parse(text);
  } catch (error) {
    expect(error).toBeInstanceOf(Rejection);
    return undefined;
  }
}

const domainOf = (text: string) => resultOf(parseDomainName, text, InvalidDomainError);

const textOf = (pieces: readonly string[]) =>
  fc
    .array(fc.oneof(fc.string({ unit: 'binary', maxLength: 4 }), fc.constantFrom(...pieces)), {
      maxLength: 8,
    })
    .map((parts) => parts.join(''));

test('any text is either rejected or given a name of a domain that holds to the rules and stays as it is', () => {
  fc.assert(
    fc.property(textOf(['.', 'a', '-', '_', '1', 'xn--', 'ü', 'ß', '%', '/', '@', '。']), (text) => {
      const name = domainOf(text);
      fc.pre(name !== undefined);
      expect(name).toMatch(/^(?:[a-z0-9_-]{1,63}\.)*(?!-)[a-z0-9_-]{1,63}(?<!-)$/);
      expect(name).not.toMatch(/(?:^|\.)\d+$/);
      expect(parseDomainName(name)).toBe(name);
    }),
    { numRuns: 500, maxSkipsPerRun: 1000 },
  );
});

test.each([
  ['', 'an empty label'],
  ['.', 'an empty label'],
  ['a..b', 'an empty label'],
  ['.example', 'an empty label'],
  ['example..', 'an empty label'],
  ['\u00ad.example', '"\\u{ad}" has no form in ASCII'],
  [`${label63}a.example`, 'longer than 63 characters'],
  [`${'ü'.repeat(70)}.example`, 'longer than 63 characters'],
  [`a.${longest}`, 'longer than 253 characters'],
  ['a.-', 'begins or ends with "-"'],
  ['example.com-', 'begins or ends with "-"'],
  ['a.-b', 'begins or ends with "-"'],
  ['-', 'begins or ends with "-"'],
  ['123', 'all digits'],
  ['a.１２', 'all digits'],
  ['1.2.3.4.5', 'all digits'],
  ['192.0.2.7', 'an IP address'],
  ['2001:db8::1', 'an IP address'],
  ['*.example', 'only letters, digits, "-" and "_"'],
  [' example.com', 'only letters'],
  ['example.com\n', 'only letters'],
  ['a\0b', 'only letters'],
  ['example.com:80', 'only letters'],
  ['http://example.com', 'only letters'],
  ['a\\.b', 'only letters'],
  ['%41.example', 'only letters'],
  ['ü/evil.example', '"ü/evil" has no form in ASCII'],
  ['ü@b.example', 'no form in ASCII'],
  ['ü%41.example', 'no form in ASCII'],
  ['ü:80', 'no form in ASCII'],
  ['ü\tb.example', 'no form in ASCII'],
  ['a\u2024b', 'no form in ASCII'],
  ['xn--a-ä.example', 'no form in ASCII'],
  ['\ud800.example', 'no form in ASCII'],
  ['a\ufffd.example', 'no form in ASCII'],
  [`${'ü'.repeat(300)}.example`, 'no form in ASCII'],
  ['ü.'.repeat(100_000), 'longer than 253 characters'],
  ['a\nb', String.raw`"a\nb" is not a domain name: its labels may hold only letters, digits, "-" and "_".`],
  ['!'.repeat(10_000), `"${'!'.repeat(64)}…" is not a domain name`],
])('no domain is named %j: %s', (text, reason) => {
  expect(() => parseDomainName(text)).toThrow(InvalidDomainError);
  expect(() => parseDomainName(text)).toThrow(reason);
});

test.each([
  ['xn--bcher-kva.example', 'bücher.example'],
  ['www.xn--fa-hia.xn--wgv71a119e', 'www.faß.日本語'],
  ['xn--a.xn--bcher-kva', 'xn--a.bücher'],
  ['xn--example-.example', 'xn--example-.example'],
  ['xn--v86cr064b.example', 'xn--v86cr064b.example'],
  ['xn--i-7iq.ws', 'i❤.ws'],
  ['-blah.vilnius-.example', '-blah.vilnius-.example'],
  ['_dmarc.a.0x7', '_dmarc.a.0x7'],
])('the name of %s for people is %s', (name, shown) => {
  expect(unicodeName(name)).toBe(shown);
});

test('the name for people leads back to the canonical name', () => {
  const label = fc.oneof(
    fc.stringMatching(/^xn--[a-z0-9]{1,12}$/),
    fc.stringMatching(/^xn--[a-z]{1,4}-[a-z0-9]{1,6}$/),
    fc
      .string({ unit: 'binary', minLength: 1, maxLength: 5 })
      .map((text) => domainOf(`${text}.x`)?.slice(0, -2) ?? 'a'),
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
  ['com', null],
  ['localhost', null],
  ['www.example.unlisted', 'example.unlisted'],
  ['page.github.io', 'page.github.io'],
  ['github.io', null],
  ['a.xn--55qx5d.cn', 'a.xn--55qx5d.cn'],
  ['xn--55qx5d.cn', null],
  ['www.ck', 'www.ck'],
  ['a.b.ck', 'a.b.ck'],
  ['b.ck', null],
  ['_dmarc.ex_ample.com', 'ex_ample.com'],
  ['xn--a.example', 'xn--a.example'],
  ['a.b.0x7', 'b.0x7'],
])('the registrable domain of %s is %s', (name, registrable) => {
  expect(registrableDomain(name)).toBe(registrable);
});

test.each([
  ['NS1.Example.COM.', 'ns1.example.com'],
  ['.', '.'],
  ['', '.'],
  ['*.example.com', '*.example.com'],
  ['_sip._TCP.example', '_sip._tcp.example'],
  ['-a-.example', '-a-.example'],
  ['192.0.2.7', '192.0.2.7'],
  ['0/25.2.0.192.in-addr.arpa', '0/25.2.0.192.in-addr.arpa'],
  [String.raw`host\.master.Example.com`, String.raw`host\.master.example.com`],
  [String.raw`host\046master.example.com`, String.raw`host\.master.example.com`],
  [String.raw`\069\120ample.com`, 'example.com'],
  [String.raw`\e\x.com`, 'ex.com'],
  [String.raw`a\\b.example`, String.raw`a\\b.example`],
  [String.raw`a\092b.example`, String.raw`a\\b.example`],
  ['a b.example', String.raw`a\032b.example`],
  [String.raw`a\ b.example`, String.raw`a\032b.example`],
  [String.raw`a\000\255.example`, String.raw`a\000\255.example`],
  ['a\tb\u007f.example', String.raw`a\009b\127.example`],
  ['";()@$.example', String.raw`\"\;\(\)\@\$.example`],
  ["a'{}!#%&+,/:<=>?[]^`|~.example", "a'{}!#%&+,/:<=>?[]^`|~.example"],
  [String.raw`example.com\.`, String.raw`example.com\.`],
  ['bücher。example。', 'xn--bcher-kva.example'],
  [String.raw`b\195\188cher.example`, String.raw`b\195\188cher.example`],
  ['a.xn--BCHER-kva.0x7', 'a.xn--bcher-kva.0x7'],
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
    fc.property(textOf(['\\', '.', '\\0', '\\04', '\\046', 'a', 'ü', '。', '\\.']), (text) => {
      const name = resultOf(canonicalHostName, text, InvalidObservationError);
      fc.pre(name !== undefined);
      expect(canonicalHostName(name)).toBe(name);
    }),
    { numRuns: 500, maxSkipsPerRun: 1000 },
  );
});

test.each([
  ['a..b', 'an empty label'],
  ['..', 'an empty label'],
  ['.a', 'an empty label'],
  ['a..', 'an empty label'],
  [`${label63}a.example`, 'a label longer than 63 octets'],
  [`${'\\000'.repeat(64)}.example`, 'a label longer than 63 octets'],
  [`${longest}a`, 'longer than 255 octets on the wire'],
  [`a.${longest}`, 'longer than 255 octets on the wire'],
  ['a.'.repeat(100_000), 'longer than 255 octets on the wire'],
  ['a\\', 'after "\\" comes a character or \\000 to \\255'],
  [String.raw`a\25.example`, 'after "\\" comes'],
  [String.raw`a\256.example`, 'after "\\" comes'],
  [String.raw`a\9`, 'after "\\" comes'],
  ['a\0b', 'U+0000; write it as \\000'],
  ['ü b.example', 'write octets as \\DDD'],
  ['*ü.example', 'write octets as \\DDD'],
  [String.raw`ü\032.example`, 'write octets as \\DDD'],
  [String.raw`\ü.example`, 'write octets as \\DDD'],
  ['\ud800.example', 'write octets as \\DDD'],
  ['a\ufffd.example', 'write octets as \\DDD'],
])('%j is no host name: %s', (text, reason) => {
  expect(() => canonicalHostName(text)).toThrow(InvalidObservationError);
  expect(() => canonicalHostName(text)).toThrow(reason);
});
