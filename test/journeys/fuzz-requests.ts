import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { bodiesOfLongNames, graphqlBodies, graphqlDocuments, naughty, text } from './fuzz-graphql.js';

export interface FuzzRequest {
  readonly kind: string;
  readonly octets: Buffer;
  /** That of a page, of what a page loads, or of a probe; absent: of none of them. */
  readonly path?: string;
  /** The only right ones; absent: many are. */
  readonly statuses?: readonly number[] | undefined;
}

/** What a request is made of. Texts of the head are sent as UTF-8, whatever HTTP allows. */
interface RequestParts {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly body?: Buffer;
}

/** A token of an identity provider, and whether it must be taken. */
export interface FuzzToken {
  readonly token: string;
  readonly isValid: boolean;
}

/** Each of some arbitrary header fields in one request of so many. */
function someOf(oneIn: number, ...fields: fc.Arbitrary<readonly [string, string]>[]) {
  const present = fields.map((field) => fc.option(field, { nil: undefined, freq: oneIn - 1 }));
  return fc.tuple(...present).map((found) => found.filter((field) => field !== undefined));
}

function field(names: string, value: fc.Arbitrary<string>): fc.Arbitrary<readonly [string, string]> {
  return fc.tuple(fc.constantFrom(...names.split(' ')), value);
}

const KNOWN = ['example.com', 'EXAMPLE.com.', 'www.example.org', 'xn--bcher-kva.example', 'nothing.example'];

/** A text in a path: as it is, or percent-encoded, by octets or by whole. */
const segment = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...KNOWN) },
  text,
  text.map((value) => percentEncoded(value)),
  fc.uint8Array({ maxLength: 20 }).map(percentEncoded),
  fc.domain(),
);

const parameter = fc
  .tuple(fc.oneof(fc.constantFrom('at', 'types', 'cursor', 'access_token', 'q'), text), text)
  .map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`);

const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  fc.array(parameter, { maxLength: 4 }).map((pairs) => `?${pairs.join('&')}`),
  text.map((raw) => `?${raw}`),
);

const API = '/api/v1/domain/';

const restTarget = fc
  .tuple(
    fc.constantFrom(API, API, API, '/api/v1/', '/api/v2/domain/', '/', '//'),
    segment,
    fc.constantFrom('', '', '', '/dns', '/details', '/headers', '/', '/x', '/../..', '%2Fdns', '/dns/'),
    query,
  )
  .map((parts) => parts.join(''))
  // The start page is for people, and HTML; a space ends a path.
  .filter((target) => !/^\/([?#\s]|$)/.test(target));

const TOKEN = `dms_${'A'.repeat(43)}`;
const UNSIGNED = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.';

const authorization = fc.oneof(
  fc.constantFrom(`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `Bearer ${UNSIGNED}`, `Bearer ${TOKEN} b`),
  fc.constantFrom('Bearer', 'Bearer ', 'Basic YTpi'),
  fc.base64String({ maxLength: 60 }).map((token) => `Bearer dms_${token}`),
  text.map((token) => `Bearer ${token}`),
  text,
);

const condition = fc.oneof(
  fc.constantFrom('*', '""', 'W/"1"', '"a", "b"', '"', ',,,', 'Sat, 01 Jan 2000 00:00:00 GMT', 'Sat, 99 Foo'),
  text,
);

const accept = fc.oneof(
  fc.constantFrom('*/*', 'application/json', 'application/problem+json', 'application/graphql-response+json'),
  fc.constantFrom('image/png', 'application/json;q=0', '*/*;q=2', ','),
  text,
);

const fields = someOf(
  7,
  field('authorization', authorization),
  field('if-none-match if-modified-since if-match range', condition),
  field('accept', accept),
  field(
    'x-request-id x-forwarded-for forwarded traceparent origin cookie referer te via expect upgrade ' +
      'content-encoding accept-encoding x-http-method-override x-apollo-operation-name',
    text,
  ),
);

const method = fc.oneof(
  { weight: 12, arbitrary: fc.constant('GET') },
  { weight: 2, arbitrary: fc.constant('HEAD') },
  fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'get', 'G ET', 'XYZ'),
);

const rest = fc.record({ method, target: restTarget, fields }).map((parts) => requestOf('REST', parts));

/** Whatever the base path is answered with: pages, what they load, and probes. */
const FIXED_PATHS =
  '/ /graphiql /api/v1/docs /api/v1/openapi.json /.well-known/api-catalog /livez /readyz /metrics ' +
  '/assets/swagger-ui/swagger-ui.css /assets/swagger-ui/swagger-ui-bundle.js /assets/graphiql/graphiql.css ' +
  '/assets/graphiql/json-worker.js /assets/graphiql/nothing.js';

const encodings = fc.constantFrom('gzip', 'br', 'identity', '*;q=0', 'gzip;q=0', 'identity;q=0', ';q=x', '');
const ranges = fc.constantFrom('bytes=0-3', 'bytes=-1', 'bytes=9-1', 'bytes=0-0,2-2', 'lines=1-2');

const fixed = fc
  .record({
    method,
    path: fc.constantFrom(...FIXED_PATHS.split(' ')),
    after: query,
    fields: someOf(
      3,
      field('if-match if-unmodified-since', condition),
      field('if-none-match if-modified-since', condition),
      field('range', fc.oneof(ranges, text)),
      field('accept-encoding', fc.oneof(encodings, text)),
      field('authorization', authorization),
      field('accept', accept),
    ),
  })
  .map(({ path, after, ...parts }) => ({ ...requestOf('fixed', { target: path + after, ...parts }), path }));

const CONTENT_TYPES = [
  ...['', '; charset=utf-8', '; charset=utf-16', '; charset=x', ';'].map((rest) => `application/json${rest}`),
  ...['', 'application/graphql', 'text/plain', 'multipart/form-data; boundary=a'],
  'application/x-www-form-urlencoded',
];

const JSON_TYPE = ['content-type', 'application/json'] as const;

const graphqlPost = fc
  .record({
    body: graphqlBodies,
    type: fc.oneof(
      { weight: 8, arbitrary: fc.constant(JSON_TYPE) },
      field('content-type', fc.constantFrom(...CONTENT_TYPES)),
    ),
    fields,
  })
  .map(({ body, type, fields: others }) => graphqlRequest('GraphQL POST', body, [type, ...others]));

const graphqlGet = fc
  .record({ document: graphqlDocuments, variables: fc.oneof(fc.json(), text), fields })
  .map(({ document, variables, fields: others }) => {
    const target = `/graphql?query=${percentEncoded(document)}&variables=${percentEncoded(variables)}`;
    return requestOf('GraphQL GET', { method: 'GET', target, fields: others });
  });

const QUESTION = Buffer.from('{"query":"{ domain(name: \\"example.com\\") { name } }"}');

const CODINGS: Readonly<Record<string, (octets: Buffer) => Buffer>> = {
  gzip: (octets) => gzipSync(octets, { level: 1 }),
  deflate: (octets) => deflateSync(octets, { level: 1 }),
  br: (octets) => brotliCompressSync(octets, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
};

function coded(coding: string, octets: Buffer): Buffer {
  return CODINGS[coding]?.(octets) ?? octets;
}

function damaged(octets: Buffer, place: number, octet: number): Buffer {
  const copy = Buffer.from(octets);
  if (copy.length > 0) copy[place % copy.length] = octet;
  return copy;
}

const coding = fc.constantFrom(...Object.keys(CODINGS));
const otherCoding = fc.oneof(
  coding,
  fc.constantFrom('GZIP', 'x-gzip', 'zstd', 'compress', 'gzip, gzip', 'gzip, br', 'identity', '*', '', 'a'),
);

/** Some 20 kB or less each, which become many MB. */
const BOMBS = Object.keys(CODINGS).flatMap((name) =>
  [600_000, 5_000_000, 20_000_000].map((length) => {
    const body = Buffer.concat([Buffer.from('{"query":"'), Buffer.alloc(length, 'a')]);
    return [name, coded(name, body)] as const;
  }),
);

/** Compressed bodies: right, cut, damaged, in another coding, coded twice, and far larger than they look. */
const compressed = fc.oneof(
  coding.map((name) => ({
    ...graphqlRequest('compressed right', coded(name, QUESTION), [JSON_TYPE, ['content-encoding', name]]),
    statuses: [200],
  })),
  fc
    .tuple(
      fc.record({ name: coding, other: otherCoding, body: graphqlBodies }),
      fc.record({ length: fc.nat({ max: 60 }), place: fc.nat(), octet: fc.nat({ max: 255 }) }),
      fc.constantFrom(...BOMBS),
    )
    .chain(([{ name, other, body }, { length, place, octet }, bomb]) => {
      const right = coded(name, body);
      return fc.constantFrom<readonly [name: string, body: Buffer]>(
        [name, right],
        [name, right.subarray(0, length)],
        [other, right],
        [name, coded(name, right)],
        ['deflate', deflateRawSync(body)],
        [name, damaged(right, place, octet)],
        bomb,
      );
    })
    .map(([name, body]) => graphqlRequest('compressed', body, [JSON_TYPE, ['content-encoding', name]])),
);

const longNames = bodiesOfLongNames.map((body) => graphqlRequest('long names', body, [JSON_TYPE]));

const garbage = fc.oneof(
  fc.base64String({ maxLength: 100 }).map((value) => value.replace(/[+/=]/g, '-')),
  fc.constantFrom('', '.', '..', '=', '-', '_', 'A'.repeat(15_000), 'A'.repeat(70_000)),
  fc.oneof(fc.json(), naughty).map((value) => Buffer.from(value).toString('base64url')),
  naughty,
  fc
    .record({ alg: fc.jsonValue(), kid: fc.jsonValue(), typ: fc.jsonValue() }, { requiredKeys: [] })
    .map((header) => Buffer.from(JSON.stringify(header)).toString('base64url')),
);

/** Requests to both APIs with tokens: right, wrong, cut, and with garbage in the place of a part. */
function requestsWithTokens(signed: readonly FuzzToken[]): fc.Arbitrary<FuzzRequest> {
  const sample = fc.constantFrom(...signed);
  // A header section of more than 16 KiB is not read; what is damaged may make it none at all.
  const whole = sample.map(({ token, isValid }) => ({ token, statuses: isValid ? [200] : [401, 431] }));
  const replaced = fc.tuple(sample, fc.nat({ max: 2 }), garbage).map(([each, place, other]) => {
    const token = each.token.split('.').with(place, other).join('.');
    return { token, statuses: [400, 401, 431] };
  });
  const valid = fc.constantFrom(...signed.filter(({ isValid }) => isValid));
  const cut = fc.tuple(valid, fc.nat()).map(([each, length]) => ({
    token: each.token.slice(0, length % each.token.length),
    statuses: [401, 431],
  }));
  const token = fc.oneof({ weight: 3, arbitrary: whole }, { weight: 3, arbitrary: replaced }, cut);
  const place = fc.constantFrom('/dns', '/details', '/headers', '', 'graphql');
  return fc.tuple(token, place).map(([{ token: each, statuses }, where]) => {
    const bearer = ['authorization', `Bearer ${each}`] as const;
    if (where === 'graphql') return { ...graphqlRequest('JWT', QUESTION, [JSON_TYPE, bearer]), statuses };
    const target = `/api/v1/domain/example.com${where}`;
    return { ...requestOf('JWT', { method: 'GET', target, fields: [bearer] }), statuses };
  });
}

/** What is hardly HTTP, with an end, so that nothing waits for more. */
const notHttp = fc
  .oneof(
    fc.uint8Array({ maxLength: 200 }).map((octets) => `G${Buffer.from(octets).toString('latin1')}`),
    fc.constantFrom(
      'GET /x HTTP/9.9\r\n\r\n',
      'GET /x\r\n\r\n',
      'POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'GET /x HTTP/1.1\r\nHost : a\r\nConnection: close\r\n\r\n',
    ),
  )
  .map((start) => ({ kind: 'not HTTP', octets: Buffer.from(`${start}\r\n\r\n\r\n\r\n`, 'latin1') }));

/** Any request that a client with bad intentions, or a bad day, could send. */
export function fuzzRequests(signed: readonly FuzzToken[]): fc.Arbitrary<FuzzRequest> {
  return fc.oneof<fc.MaybeWeightedArbitrary<FuzzRequest>[]>(
    { weight: 10, arbitrary: rest },
    { weight: 4, arbitrary: fixed },
    { weight: 8, arbitrary: graphqlPost },
    { weight: 3, arbitrary: graphqlGet },
    { weight: 1, arbitrary: notHttp },
    { weight: 4, arbitrary: requestsWithTokens(signed) },
    { weight: 2, arbitrary: compressed },
    { weight: 2, arbitrary: longNames },
  );
}

function graphqlRequest(kind: string, body: Buffer, some: RequestParts['fields']): FuzzRequest {
  return requestOf(kind, { method: 'POST', target: '/graphql', fields: some, body });
}

function requestOf(kind: string, { method: name, target, fields: some, body }: RequestParts): FuzzRequest {
  const length = body === undefined ? [] : [['content-length', String(body.length)]];
  const all = [['host', '127.0.0.1'], ['connection', 'close'], ...length, ...some];
  const lines = [`${name} ${target} HTTP/1.1`, ...all.map((pair) => pair.join(': '))];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
  return { kind, octets: body === undefined ? head : Buffer.concat([head, body]) };
}

function percentEncoded(value: string | Uint8Array): string {
  return [...Buffer.from(value)].map((octet) => `%${octet.toString(16).padStart(2, '0')}`).join('');
}
