import { encodedAs, textOctets, uint16 } from './dns-octets.js';

const KEYS = [
  'mandatory',
  'alpn',
  'no-default-alpn',
  'port',
  'ipv4hint',
  'ech',
  'ipv6hint',
  'dohpath',
  'ohttp',
];

/**
 * The service parameters of an SVCB or HTTPS record (RFC 9460) from their presentation, sorted by key:
 * `alpn="h2,h3"`, `port=8443`, `key667=hello`. Escapes within the lists of alpn are not read.
 */
export function serviceParameters(texts: readonly string[]): Buffer {
  const parameters = texts.map((text) => {
    const [name = '', ...value] = text.split('=');
    return { key: keyOf(name), octets: valueOctets(name, value.join('=')) };
  });
  parameters.sort((a, b) => a.key - b.key);
  return Buffer.concat(parameters.flatMap(({ key, octets }) => [uint16(key, octets.length), octets]));
}

function keyOf(name: string): number {
  const known = KEYS.indexOf(name);
  return known === -1 ? Number(name.replace('key', '')) : known;
}

function valueOctets(name: string, value: string): Buffer {
  const items = value === '' ? [] : value.split(',');
  switch (name) {
    case 'mandatory':
      return uint16(...items.map(keyOf).sort((a, b) => a - b));
    case 'alpn':
      return Buffer.concat(items.flatMap((item) => [Buffer.of(item.length), Buffer.from(item)]));
    case 'port':
      return uint16(Number(value));
    case 'ipv4hint':
      return Buffer.concat(items.map((data) => encodedAs({ name: '.', type: 'A', data })));
    case 'ipv6hint':
      return Buffer.concat(items.map((data) => encodedAs({ name: '.', type: 'AAAA', data })));
    case 'ech':
      return Buffer.from(value, 'base64');
    default:
      return textOctets(value);
  }
}
