import { characterString, encodedAs, nameOctets, textOctets, uint16, uint32 } from './dns-octets.js';
import { serviceParameters } from './dns-service-parameters.js';

/** The fields of rdata as a master file writes them, taken one by one. */
class RdataFields {
  readonly #texts: string[];
  readonly #absolute: (name: string) => string;

  constructor(texts: readonly string[], absolute: (name: string) => string) {
    this.#texts = [...texts];
    this.#absolute = absolute;
  }

  next(): string {
    const text = this.#texts.shift();
    if (text === undefined) throw new Error('The record has too few fields.');
    return text;
  }

  rest(): string[] {
    return this.#texts.splice(0);
  }

  uint8(): Buffer {
    return Buffer.of(Number(this.next()));
  }

  uint16(): Buffer {
    return uint16(Number(this.next()));
  }

  uint32(): Buffer {
    return uint32(Number(this.next()));
  }

  name(): Buffer {
    const name = this.#absolute(this.next());
    return name.includes('\\') ? nameOctets(name) : encodedAs({ name: '.', type: 'NS', data: name });
  }

  string(): Buffer {
    return characterString(textOctets(this.next()));
  }

  encoded(encoding: 'hex' | 'base64'): Buffer {
    return Buffer.from(this.rest().join(''), encoding);
  }
}

type Encoder = (fields: RdataFields) => Buffer;

const name: Encoder = (fields) => fields.name();
const digest: Encoder = (f) => Buffer.concat([f.uint16(), f.uint8(), f.uint8(), f.encoded('hex')]);
const key: Encoder = (f) => Buffer.concat([f.uint16(), f.uint8(), f.uint8(), f.encoded('base64')]);
const certificate: Encoder = (f) => Buffer.concat([f.uint8(), f.uint8(), f.uint8(), f.encoded('hex')]);
const service: Encoder = (f) => Buffer.concat([f.uint16(), f.name(), serviceParameters(f.rest())]);

const ENCODERS: Readonly<Record<string, Encoder>> = {
  A: (f) => encodedAs({ name: '.', type: 'A', data: f.next() }),
  AAAA: (f) => encodedAs({ name: '.', type: 'AAAA', data: f.next() }),
  NS: name,
  CNAME: name,
  PTR: name,
  DNAME: name,
  SOA: (f) => Buffer.concat([f.name(), f.name(), f.uint32(), f.uint32(), f.uint32(), f.uint32(), f.uint32()]),
  TXT: (f) => encodedAs({ name: '.', type: 'TXT', data: f.rest().map(textOctets) }),
  SPF: (f) => encodedAs({ name: '.', type: 'TXT', data: f.rest().map(textOctets) }),
  MX: (f) => Buffer.concat([f.uint16(), f.name()]),
  AFSDB: (f) => Buffer.concat([f.uint16(), f.name()]),
  SRV: (f) => Buffer.concat([f.uint16(), f.uint16(), f.uint16(), f.name()]),
  CAA: (f) => Buffer.concat([f.uint8(), f.string(), textOctets(f.next())]),
  NAPTR: (f) => Buffer.concat([f.uint16(), f.uint16(), f.string(), f.string(), f.string(), f.name()]),
  HINFO: (f) => Buffer.concat([f.string(), f.string()]),
  RP: (f) => Buffer.concat([f.name(), f.name()]),
  URI: (f) => Buffer.concat([f.uint16(), f.uint16(), textOctets(f.next())]),
  DS: digest,
  CDS: digest,
  DNSKEY: key,
  CDNSKEY: key,
  TLSA: certificate,
  SMIMEA: certificate,
  SSHFP: (f) => Buffer.concat([f.uint8(), f.uint8(), f.encoded('hex')]),
  OPENPGPKEY: (f) => f.encoded('base64'),
  SVCB: service,
  HTTPS: service,
};

/**
 * The octets of rdata from its presentation, or, for any type, from the form of RFC 3597 (`\# 4 C0000201`).
 *
 * @param texts The fields as they stand in a master file, without the double quotes around them.
 * @param absolute Completes a name that does not end in a dot.
 */
export function encodeRdata(
  type: string,
  texts: readonly string[],
  absolute: (name: string) => string,
): Buffer {
  if (texts[0] === '\\#') return Buffer.from(texts.slice(2).join(''), 'hex');
  const encoder = ENCODERS[type];
  if (encoder === undefined) throw new Error(`Write the data of ${type} in the form of RFC 3597: \\# 0`);
  return encoder(new RdataFields(texts, absolute));
}
