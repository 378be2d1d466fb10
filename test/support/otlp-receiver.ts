import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

type Attributes = Readonly<Record<string, string | number>>;

interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it has no parent. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Attributes;
  readonly resource: Attributes;
}

export type OtlpReceiver = Awaited<ReturnType<typeof startOtlpReceiver>>;

/** Starts a collector that takes traces as OTLP over HTTP in protobuf (opentelemetry-proto, trace/v1). */
export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    bodies.push(body);
    const right =
      request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf';
    if (right) spans.push(...spansOf(new Message(body)));
    response.writeHead(right ? 200 : 400, { 'content-type': 'application/x-protobuf' }).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // A server on a port has such an address.
  const { port } = server.address() as AddressInfo;
  return {
    /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
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
function spansOf(request: Message): ReceivedSpan[] {
  return request.messages(1).flatMap((resourceSpans) => {
    const resource = attributesOf(resourceSpans.messages(1).flatMap((each) => each.messages(1)));
    return resourceSpans
      .messages(2)
      .flatMap((scopeSpans) => scopeSpans.messages(2))
      .map((span) => ({
        traceId: span.octets(1).toString('hex'),
        spanId: span.octets(2).toString('hex'),
        parentSpanId: span.octets(4).toString('hex'),
        name: span.octets(5).toString(),
        kind: Number(span.number(6)),
        attributes: attributesOf(span.messages(9)),
        resource,
      }));
  });
}

/** KeyValue { 1: key, 2: AnyValue { 1: string, 3: int } }. */
function attributesOf(pairs: readonly Message[]): Attributes {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [value] = pair.messages(2);
      return [pair.octets(1).toString(), value?.number(3) ?? String(value?.octets(1) ?? '')];
    }),
  );
}

/** A message of protobuf: its fields by their numbers, each a varint or octets. */
class Message {
  readonly #fields: (readonly [number: number, value: number | Buffer])[] = [];

  constructor(octets: Buffer) {
    let at = 0;
    const varint = (): number => {
      let value = 0;
      for (let factor = 1; ; factor *= 128) {
        const octet = octets.readUInt8(at);
        at += 1;
        value += (octet & 127) * factor;
        if (octet < 128) return value;
      }
    };
    const take = (length: number): Buffer => {
      at += length;
      return octets.subarray(at - length, at);
    };
    while (at < octets.length) {
      const tag = varint();
      const type = tag & 7;
      const value = type === 0 ? varint() : take(type === 1 ? 8 : type === 2 ? varint() : 4);
      this.#fields.push([tag >> 3, value]);
    }
  }

  number(wanted: number): number | undefined {
    const value = this.#fields.find(([number]) => number === wanted)?.[1];
    return typeof value === 'number' ? value : undefined;
  }

  octets(wanted: number): Buffer {
    return this.#all(wanted)[0] ?? Buffer.alloc(0);
  }

  messages(wanted: number): Message[] {
    return this.#all(wanted).map((octets) => new Message(octets));
  }

  #all(wanted: number): Buffer[] {
    return this.#fields.flatMap(([number, value]) =>
      number === wanted && Buffer.isBuffer(value) ? [value] : [],
    );
  }
}
