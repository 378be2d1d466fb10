import fc from 'fast-check';

const hostName = fc.oneof(
  fc.constantFrom(
    '',
    ...'. example.com EXAMPLE.com. *.example.com _a.b a!.b a a.b bücher.example'.split(' '),
  ),
  fc.constantFrom('a b.c', ...String.raw`a\.b.c \000\255.c \065.c a\\.c`.split(' ')),
);
const MOST = 4294967295;
const integer = fc.oneof(fc.constantFrom(0, 1, 2, 10, MOST, '7', '0010'), fc.integer({ min: 0, max: MOST }));
const unit = fc.constantFrom('a', ' ', '!', '"', '\\', '\n', 'é', '\u{ffff}', '\u{1f600}');
const text = fc.string({ unit, maxLength: 6 });
const part = fc.constantFrom(...'a \\ 0 6 5 \\000 \\195 \\169 \0 é \u{ffff} \u{1f600}'.split(' '));
const characterString = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(''));
const ipv4 = fc.ipV4();
const ipv6 = fc.oneof(fc.ipV6(), fc.constantFrom('::', '::FFFF:1.2.3.4', '2001:0db8:0:0:1:0:0:1'));
const delegation = fc.constantFrom(
  ...['1 2 9 ab cd', ' 1  2 9 ABCD ', '10 2 9 AB'],
  ...[String.raw`\# 5 0001 02 09 ab`, String.raw`\# 2 ab cd`],
);
const service = fc.constantFrom(
  ...['1 . alpn="h2,h3"', '1 . alpn=h2,h3 port=53', '2 .', '10 A.example.'],
  ...['1 . key700="a b!"', '1 . key700="\u{1f600}\u{ffff}"'],
);

function own(type: string, fields: Record<string, fc.Arbitrary<unknown>>) {
  return fc.record({ type: fc.constantFrom(type, type.toLowerCase()), ...fields });
}

/** Fields of one kind of value. @param names Divided by blanks. */
function all<Value>(names: string, value: fc.Arbitrary<Value>): Record<string, fc.Arbitrary<Value>> {
  return Object.fromEntries(names.split(' ').map((name) => [name, value]));
}

const ownFields = fc.oneof(
  own('A', { ip: ipv4 }),
  own('AAAA', { ipv6 }),
  own('NS', { target: hostName }),
  own('CNAME', { target: hostName }),
  own('SOA', { ...all('mname rname', hostName), ...all('serial refresh retry expire minimum-ttl', integer) }),
  own('TXT', { txt: characterString }),
  own('TXT', { entries: fc.array(characterString, { minLength: 1, maxLength: 3 }) }),
  own('MX', { pri: integer, target: hostName }),
  own('SRV', { pri: integer, weight: integer, port: integer, target: hostName }),
  own('CAA', { flags: integer, tag: text, value: text }),
  own('NAPTR', {
    ...all('order pref', integer),
    ...all('flags services regex', text),
    replacement: hostName,
  }),
  own('HINFO', { cpu: text, os: text }),
  own('DS', { data: delegation }),
  own('HTTPS', { data: service }),
);

/** Data objects of records of every kind, in canonical form or not, as an observer may write them. */
export const dnsRecordInput: fc.Arbitrary<Record<string, unknown>> = fc
  .tuple(hostName, fc.constantFrom('IN', 'in', 'CH'), ownFields)
  .map(([host, recordClass, fields]) => ({ host, class: recordClass, ...fields }));
