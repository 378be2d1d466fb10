import fc from 'fast-check';
import { NAUGHTY_STRINGS } from '../support/naughty-strings.js';
import { graphqlBodies, graphqlDocuments } from './fuzz-graphql.js';

/** A request as it is sent, and what it tries. */
export interface FuzzRequest {
  readonly kind: string;
  readonly octets: Buffer;
  /** That of a page, of what a page loads, or of a probe; absent: of none of them. */
  readonly path?: string;
  /** The only right ones; absent: many are. */
  readonly statuses?: readonly number[];
}

/** What a request is made of. Texts of the head are sent as UTF-8, whatever HTTP allows. */
export interface RequestParts {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly body?: Buffer;
}

const naughty = fc.constantFrom(...NAUGHTY_STRINGS);
const text = fc.oneof(naughty, fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 40 }));

const KNOWN = ['example.com', 'EXAMPLE.com.', 'www.example.org', 'xn--bcher-kva.example', 'nothing.example'];

/** A text in a path: as it is, or percent-encoded, by octets or by whole. */
const segment = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...KNOWN) },
  text,
  text.map(percentEncoded),
  fc.uint8Array({ maxLength: 20 }).map((octets) => percentEncodedOctets(Buffer.from(octets))),
  fc.domain(),
);

const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  fc
    .array(fc.tuple(fc.oneof(fc.constantFrom('at', 'types', 'cursor', 'access_token', 'q'), text), text), {
      maxLength: 4,
    })
    .map(
      (pairs) =>
        `?${pairs.map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`).join('&')}`,
    ),
  text.map((raw) => `?${raw}`),
);

const restTarget = fc
  .tuple(
    fc.constantFrom(
      '/api/v1/domain/',
      '/api/v1/domain/',
      '/api/v1/domain/',
      '/api/v1/',
      '/api/v2/domain/',
      '/',
      '//',
    ),
    segment,
    fc.constantFrom('', '', '', '/dns', '/details', '/headers', '/', '/x', '/../..', '%2Fdns', '/dns/'),
    query,
  )
  .map((parts) => parts.join(''))
  // The start page is for people, and HTML; a space ends a path.
  .filter((target) => !/^\/([?#\s]|$)/.test(target));

const TOKEN = `dms_${'A'.repeat(43)}`;
const JWT = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.';

const authorization = fc.oneof(
  fc.constantFrom(
    `Bearer ${TOKEN}`,
    `bearer ${TOKEN}`,
    `Bearer ${JWT}`,
    'Bearer',
    'Bearer ',
    'Basic YTpi',
    `Bearer ${TOKEN} b`,
  ),
  fc.base64String({ maxLength: 60 }).map((token) => `Bearer dms_${token}`),
  text.map((token) => `Bearer ${token}`),
  text,
);

const conditional = fc.oneof(
  fc.constantFrom('*', '""', 'W/"1"', '"a", "b"', '"', ',,,', 'Sat, 01 Jan 2000 00:00:00 GMT', 'Sat, 99 Foo'),
  text,
);

const accept = fc.oneof(
  fc.constantFrom('*/*', 'application/json', 'application/problem+json', 'application/graphql-response+json'),
  fc.constantFrom('image/png', 'application/json;q=0', '*/*;q=2', ','),
  text,
);

const OTHER_FIELDS = [
  ...[
    'x-request-id',
    'x-forwarded-for',
    'forwarded',
    'traceparent',
    'origin',
    'cookie',
    'referer',
    'te',
    'via',
  ],
  ...[
    'expect',
    'upgrade',
    'content-encoding',
    'accept-encoding',
    'x-http-method-override',
    'x-apollo-operation-name',
  ],
];

/** Some header fields, each with what it may hold and what it may not. */
const fields = fc
  .tuple(
    rarely(fc.tuple(fc.constant('authorization'), authorization)),
    rarely(fc.tuple(fc.constantFrom('if-none-match', 'if-modified-since', 'if-match', 'range'), conditional)),
    rarely(fc.tuple(fc.constant('accept'), accept)),
    rarely(fc.tuple(fc.constantFrom(...OTHER_FIELDS), text)),
  )
  .map((found) => found.filter((field) => field !== undefined));

function rarely<Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

const method = fc.oneof(
  { weight: 12, arbitrary: fc.constant('GET') },
  { weight: 2, arbitrary: fc.constant('HEAD') },
  fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'get', 'G ET', 'XYZ'),
);

const rest = fc.record({ method, target: restTarget, fields }).map((parts) => requestOf('REST', parts));

/** Whatever the base path is answered with: pages, what they load, and probes. */
const FIXED_PATHS = [
  ...['/', '/graphiql', '/api/v1/docs', '/api/v1/openapi.json', '/.well-known/api-catalog'],
  ...['/assets/swagger-ui/swagger-ui.css', '/assets/swagger-ui/swagger-ui-bundle.js'],
  ...['/assets/graphiql/graphiql.css', '/assets/graphiql/json-worker.js', '/assets/graphiql/nothing.js'],
  ...['/livez', '/readyz', '/metrics'],
];

const encodings = fc.oneof(
  fc.constantFrom('gzip', 'br', 'identity', '*;q=0', 'gzip;q=0', 'identity;q=0', ';q=x', ''),
  text,
);

const ranges = fc.oneof(
  fc.constantFrom('bytes=0-3', 'bytes=-1', 'bytes=9-1', 'bytes=0-0,2-2', 'bytes=99999999999-', 'lines=1-2'),
  text,
);

const fixedFields = fc
  .tuple(
    ...['if-match', 'if-none-match', 'if-unmodified-since', 'if-modified-since'].map((name) =>
      sometimes(fc.tuple(fc.constant(name), conditional)),
    ),
    sometimes(fc.tuple(fc.constant('range'), ranges)),
    sometimes(fc.tuple(fc.constant('accept-encoding'), encodings)),
    rarely(fc.tuple(fc.constant('authorization'), authorization)),
    rarely(fc.tuple(fc.constant('accept'), accept)),
  )
  .map((found) => found.filter((field) => field !== undefined));

function sometimes<Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.option(arbitrary, { nil: undefined, freq: 2 });
}

const fixed = fc
  .record({ method, path: fc.constantFrom(...FIXED_PATHS), query, fields: fixedFields })
  .map(({ method: name, path, query: after, fields: some }) => ({
    ...requestOf('fixed', { method: name, target: `${path}${after}`, fields: some }),
    path,
  }));

const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json; charset=utf-16',
  'application/json; charset=x',
  'application/graphql',
  'text/plain',
  'multipart/form-data; boundary=a',
  'application/x-www-form-urlencoded',
  '',
  'a',
  'application/json;',
];

const contentType = fc
  .oneof({ weight: 8, arbitrary: fc.constant('application/json') }, fc.constantFrom(...CONTENT_TYPES))
  .map((value) => ['content-type', value] as const);

const graphqlPost = fc
  .record({ body: graphqlBodies, contentType, fields })
  .map(({ body, contentType: type, fields: others }) =>
    requestOf('GraphQL POST', { method: 'POST', target: '/graphql', fields: [type, ...others], body }),
  );

const graphqlGet = fc
  .record({
    document: fc.oneof(graphqlDocuments, text),
    variables: fc.oneof(fc.json(), text),
    fields,
  })
  .map(({ document, variables, fields: others }) => {
    const target = `/graphql?query=${percentEncoded(document)}&variables=${percentEncoded(variables)}`;
    return requestOf('GraphQL GET', { method: 'GET', target, fields: others });
  });

/** What is hardly HTTP. */
const notHttp = fc
  .oneof(
    fc.uint8Array({ maxLength: 200 }).map((octets) => Buffer.from([0x47, ...octets])),
    fc
      .constantFrom(
        'GET /x HTTP/9.9\r\n\r\n',
        'GET /x\r\n\r\n',
        'GET /x HTTP/1.1\r\n\r\n',
        'GET http://127.0.0.1/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
        'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
        'POST /graphql HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'POST /graphql HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
        'GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n',
        'GET /x HTTP/1.1\r\nHost : a\r\nConnection: close\r\n\r\n',
        `GET /x HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
      )
      .map((octets) => Buffer.from(octets, 'latin1')),
  )
  // An end, so that nothing waits for more.
  .map(
    (octets): FuzzRequest => ({
      kind: 'not HTTP',
      octets: Buffer.concat([octets, Buffer.from('\r\n\r\n\r\n\r\n')]),
    }),
  );

/** Any request that a client with bad intentions, or a bad day, could send. */
export const fuzzRequests: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: 10, arbitrary: rest },
  { weight: 4, arbitrary: fixed },
  { weight: 8, arbitrary: graphqlPost },
  { weight: 3, arbitrary: graphqlGet },
  { weight: 1, arbitrary: notHttp },
);

/** A request that ends its connection. */
export function requestOf(
  kind: string,
  { method: name, target, fields: others, body }: RequestParts,
): FuzzRequest {
  const length = body === undefined ? [] : [['content-length', String(body.length)] as const];
  const all = [['host', '127.0.0.1'] as const, ['connection', 'close'] as const, ...length, ...others];
  const lines = [`${name} ${target} HTTP/1.1`, ...all.map(([field, value]) => `${field}: ${value}`)];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
  return { kind, octets: body === undefined ? head : Buffer.concat([head, body]) };
}

function percentEncoded(value: string): string {
  return percentEncodedOctets(Buffer.from(value));
}

function percentEncodedOctets(octets: Buffer): string {
  return [...octets].map((octet) => `%${octet.toString(16).padStart(2, '0')}`).join('');
}
