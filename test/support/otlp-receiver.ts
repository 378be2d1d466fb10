import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it has no parent. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Of what sent it. */
  readonly resource: Readonly<Record<string, string | number>>;
}

export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  text(): string;
  close(): Promise<void>;
}

/** Starts a collector that takes traces as OTLP over HTTP in protobuf (opentelemetry-proto, trace/v1). */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    bodies.push(body);
    const right =
      request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf';
    if (right) spans.push(...spansOf(body));
    response.writeHead(right ? 200 : 400, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    text: () => Buffer.concat(bodies).toString('latin1'),
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** ExportTraceServiceRequest 1: ResourceSpans { 1: Resource { 1: KeyValue }, 2: ScopeSpans { 2: Span } }. */
function spansOf(body: Buffer): ReceivedSpan[] {
  return children(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const [resourceFields = []] = children(resourceSpans, 1);
    const resource = attributesOf(children(resourceFields, 1));
    return children(resourceSpans, 2)
      .flatMap((scopeSpans) => children(scopeSpans, 2))
      .map((span) => spanOf(span, resource));
  });
}

function spanOf(span: readonly Field[], resource: ReceivedSpan['resource']): ReceivedSpan {
  return {
    traceId: bytes(span, 1).toString('hex'),
    spanId: bytes(span, 2).toString('hex'),
    parentSpanId: bytes(span, 4).toString('hex'),
    name: bytes(span, 5).toString(),
    kind: Number(span.find(({ number }) => number === 6)?.value),
    attributes: attributesOf(children(span, 9)),
    resource,
  };
}

/** KeyValue { 1: key, 2: AnyValue { 1: string, 3: int } }. */
function attributesOf(pairs: readonly (readonly Field[])[]): Record<string, string | number> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [value = []] = children(pair, 2);
      const integer = value.find(({ number }) => number === 3)?.value;
      return [
        bytes(pair, 1).toString(),
        typeof integer === 'bigint' ? Number(integer) : bytes(value, 1).toString(),
      ];
    }),
  );
}

/** A field of a protobuf message: a number, or bytes. */
interface Field {
  readonly number: number;
  readonly value: bigint | Buffer;
}

function children(fields: readonly Field[], wanted: number): Field[][] {
  return fields.flatMap(({ number, value }) =>
    number === wanted && typeof value !== 'bigint' ? [fieldsOf(value)] : [],
  );
}

function bytes(fields: readonly Field[], wanted: number): Buffer {
  const value = fields.find(({ number }) => number === wanted)?.value;
  return typeof value === 'object' ? value : Buffer.alloc(0);
}

/** The protobuf encoding: a varint of number and wire type, and the value. */
function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const octet = message.readUInt8(at);
      at += 1;
      value |= BigInt(octet & 0x7f) << shift;
      if (octet < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    switch (tag & 7) {
      case 0:
        fields.push({ number, value: varint() });
        break;
      case 1:
        fields.push({ number, value: take(8) });
        break;
      case 2:
        fields.push({ number, value: take(Number(varint())) });
        break;
      default:
        fields.push({ number, value: take(4) });
    }
  }
  return fields;
}
