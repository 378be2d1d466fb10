import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { graphqlBodies } from './fuzz-graphql.js';

/** A request's body, and how it says that it is coded. */
export interface CodedBody {
  readonly coding: string;
  readonly octets: Buffer;
  /** Whether it is what it says, a valid query, and small; undefined: not known. */
  readonly right: true | undefined;
}

const CODINGS: Readonly<Record<string, (octets: Buffer) => Buffer>> = {
  gzip: (octets) => gzipSync(octets, { level: 1 }),
  deflate: (octets) => deflateSync(octets, { level: 1 }),
  br: (octets) => brotliCompressSync(octets, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
};

const coding = fc.constantFrom(...Object.keys(CODINGS));

function coded(name: string, octets: Buffer): Buffer {
  return CODINGS[name]?.(octets) ?? octets;
}

const QUESTION = Buffer.from('{"query":"{ domain(name: \\"example.com\\") { name } }"}');

/** Some 20 kB or less each, which become many MB. */
const BOMBS = Object.keys(CODINGS).flatMap((name) =>
  [600_000, 5_000_000, 20_000_000].map((length) => ({
    coding: name,
    octets: coded(name, Buffer.concat([Buffer.from('{"query":"'), Buffer.alloc(length, 'a')])),
    right: undefined,
  })),
);

const OTHER_NAMES = [
  'GZIP',
  'x-gzip',
  'zstd',
  'compress',
  'gzip, gzip',
  'gzip, br',
  'identity',
  '*',
  '',
  'a',
];

/** Compressed bodies: right, cut, damaged, in another coding than they say, and far larger than they look. */
export const codedBodies: fc.Arbitrary<CodedBody> = fc.oneof(
  coding.map((name): CodedBody => ({ coding: name, octets: coded(name, QUESTION), right: true })),
  {
    weight: 2,
    arbitrary: fc.tuple(coding, graphqlBodies).map(([name, body]) => unknown(name, coded(name, body))),
  },
  fc
    .tuple(coding, graphqlBodies, fc.nat({ max: 60 }))
    .map(([name, body, length]) => unknown(name, coded(name, body).subarray(0, length))),
  fc.tuple(coding, coding, graphqlBodies).map(([says, is, body]) => unknown(says, coded(is, body))),
  fc.tuple(coding, graphqlBodies).map(([name, body]) => unknown(name, coded(name, coded(name, body)))),
  graphqlBodies.map((body) => unknown('deflate', deflateRawSync(body))),
  fc
    .tuple(fc.constantFrom(...OTHER_NAMES), coding, graphqlBodies)
    .map(([says, is, body]) => unknown(says, coded(is, body))),
  fc
    .tuple(coding, graphqlBodies, fc.nat(), fc.nat({ max: 255 }))
    .map(([name, body, place, octet]) => unknown(name, damaged(coded(name, body), place, octet))),
  fc.constantFrom(...BOMBS),
);

function unknown(name: string, octets: Buffer): CodedBody {
  return { coding: name, octets, right: undefined };
}

function damaged(octets: Buffer, place: number, octet: number): Buffer {
  const copy = Buffer.from(octets);
  if (copy.length > 0) copy[place % copy.length] = octet;
  return copy;
}
