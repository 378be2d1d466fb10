import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDomainName, unicodeName } from '../../src/model/domain-name.js';
import { InvalidDomainError } from '../../src/model/errors.js';
import { registrableDomain } from '../../src/model/registrable-domain.js';

const label63 = 'a'.repeat(63);
/** 253 characters in four labels. */
const longest = `${label63}.${label63}.${label63}.${'a'.repeat(61)}`;

describe('a domain has one canonical name', () => {
  test.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.com.', 'example.com'],
    ['com', 'com'],
    ['com.', 'com'],
    ['a', 'a'],
    ['_dmarc.Example.COM', '_dmarc.example.com'],
    ['under_score.example', 'under_score.example'],
    ['a--b.example', 'a--b.example'],
    ['1.2.3.example', '1.2.3.example'],
    ['1.2.3.4a', '1.2.3.4a'],
    ['3com', '3com'],
    ['a.0x7', 'a.0x7'],
    ['1.0xffffffff', '1.0xffffffff'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['bu\u0308cher.example', 'xn--bcher-kva.example'],
    ['faß.example', 'xn--fa-hia.example'],
    ['βόλος.com', 'xn--nxasmm1c.com'],
    ['ΒΌΛΟΣ.com', 'xn--nxasmq6b.com'],
    ['日本語。ＪＰ', 'xn--wgv71a119e.jp'],
    ['a\uff0eb\uff61example\u3002', 'a.b.example'],
    ['ｅｘａｍｐｌｅ.com', 'example.com'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
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
    [longest, longest],
    [`${longest}.`, longest],
  ])('%s is %s', (text, name) => {
    expect(parseDomainName(text)).toBe(name);
  });

  test('a canonical name stays as it is', () => {
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

  test('any text is either rejected or given a name that holds to the rules and stays as it is', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.constantFrom('.', 'a', '-', '_', '1', 'xn--', 'ü', 'ß', '%', '/', '@', '。'),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const name = nameOrUndefined(pieces.join(''));
        fc.pre(name !== undefined);
        expect(name).toMatch(/^(?:[a-z0-9_-]{1,63}\.)*(?!-)[a-z0-9_-]{1,63}(?<!-)$/);
        expect(name).not.toMatch(/(?:^|\.)\d+$/);
        expect(parseDomainName(name)).toBe(name);
      }),
      { numRuns: 500, maxSkipsPerRun: 1000 },
    );
  });
});

function nameOrUndefined(text: string): string | undefined {
  try {
    return parseDomainName(text);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidDomainError);
    return undefined;
  }
}

describe('what no domain can be named is rejected with the reason', () => {
  test.each([
    ['', 'an empty label'],
    ['.', 'an empty label'],
    ['..', 'an empty label'],
    ['a..b', 'an empty label'],
    ['.example', 'an empty label'],
    ['example..', 'an empty label'],
    ['\u00ad.example', '"\\u{ad}" has no form in ASCII'],
    [`${label63}a.example`, 'longer than 63 characters'],
    [`${'ü'.repeat(70)}.example`, 'longer than 63 characters'],
    [`a${longest}`, 'longer than 63 characters'],
    [`a.${longest}`, 'longer than 253 characters'],
    ['a.-', 'begins or ends with "-"'],
    ['example.com-', 'begins or ends with "-"'],
    ['a.-b', 'begins or ends with "-"'],
    ['-', 'begins or ends with "-"'],
    ['a.123', 'all digits'],
    ['123', 'all digits'],
    ['a.１２', 'all digits'],
    ['1.2.3.4.5', 'all digits'],
    ['192.0.2.7', 'an IP address'],
    ['2001:db8::1', 'an IP address'],
    ['*.example', 'only letters, digits, "-" and "_"'],
    ['a b.example', 'only letters'],
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
  ])('%j: %s', (text, reason) => {
    expect(() => parseDomainName(text)).toThrow(InvalidDomainError);
    expect(() => parseDomainName(text)).toThrow(reason);
  });

  test('the message names the domain, cut and on one line', () => {
    expect(() => parseDomainName('a\nb')).toThrow(
      new InvalidDomainError(
        String.raw`"a\nb" is not a domain name: its labels may hold only letters, digits, "-" and "_".`,
      ),
    );
    expect(() => parseDomainName('!'.repeat(10_000))).toThrow(/^"!{64}…" is not/);
  });
});

describe('the name for people', () => {
  test.each([
    ['xn--bcher-kva.example', 'bücher.example'],
    ['www.xn--fa-hia.xn--wgv71a119e', 'www.faß.日本語'],
    ['xn--a.example', 'xn--a.example'],
    ['xn--a.xn--bcher-kva', 'xn--a.bücher'],
    ['xn--example-.example', 'xn--example-.example'],
    ['xn--v86cr064b.example', 'xn--v86cr064b.example'],
    ['xn--i-7iq.ws', 'i❤.ws'],
    ['-blah.vilnius-.example', '-blah.vilnius-.example'],
    ['example.com', 'example.com'],
    ['_dmarc.a.0x7', '_dmarc.a.0x7'],
  ])('of %s is %s', (name, shown) => {
    expect(unicodeName(name)).toBe(shown);
  });

  test('leads back to the canonical name', () => {
    const label = fc.oneof(
      fc.stringMatching(/^xn--[a-z0-9]{1,12}$/),
      fc.stringMatching(/^xn--[a-z]{1,4}-[a-z0-9]{1,6}$/),
      fc
        .string({ unit: 'binary', minLength: 1, maxLength: 5 })
        .map((text) => nameOrUndefined(`${text}.x`)?.slice(0, -2) ?? 'a'),
    );
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 3 }), (labels) => {
        const name = `${labels.join('.')}.example`;
        expect(parseDomainName(unicodeName(name))).toBe(name);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the registrable domain', () => {
  test.each([
    ['example.com', 'example.com'],
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
  ])('of %s is %s', (name, registrable) => {
    expect(registrableDomain(name)).toBe(registrable);
  });
});
