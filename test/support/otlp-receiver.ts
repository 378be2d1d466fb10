import { startReceiver } from './receiver.js';

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
  const { received, url, close } = await startReceiver((response) => {
    const { path, headers, octets } = received.at(-1) ?? {};
    const isRight = path === '/v1/traces' && headers?.['content-type'] === 'application/x-protobuf';
    if (isRight && octets !== undefined) spans.push(...spansOf(readMessage(octets)));
    response.writeHead(isRight ? 200 : 400, { 'content-type': 'application/x-protobuf' }).end();
  });
  return {
    /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
    url: new URL(url).origin,
    spans,
    text: () => received.map(({ octets }) => octets.toString('latin1')).join(''),
    close,
  };
}

/** ExportTraceServiceRequest 1: ResourceSpans { 1: Resource { 1: KeyValue }, 2: ScopeSpans { 2: Span } }. */
function spansOf(request: Message): ReceivedSpan[] {
  return request.messages(1).flatMap((resourceSpans) => {
    const resource = attributesOf(resourceSpans.messages(1).flatMap((each) => each.messages(1)));
    const spans = resourceSpans.messages(2).flatMap((scopeSpans) => scopeSpans.messages(2));
    return spans.map((span) => ({
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
interface Message {
  number(field: number): number | undefined;
  octets(field: number): Buffer;
  messages(field: number): Message[];
}

function readMessage(message: Buffer): Message {
  const numbers = new Map<number, number>();
  const octets = new Map<number, Buffer[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const octet = message.readUInt8(at);
      at += 1;
      value += (octet & 127) * factor;
      if (octet < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const [field, type] = [tag >> 3, tag & 7];
    if (type === 0) numbers.set(field, varint());
    else {
      const length = type === 1 ? 8 : type === 2 ? varint() : 4;
      octets.set(field, [...(octets.get(field) ?? []), message.subarray(at, at + length)]);
      at += length;
    }
  }
  return {
    number: (field) => numbers.get(field),
    octets: (field) => octets.get(field)?.[0] ?? Buffer.alloc(0),
    messages: (field) => (octets.get(field) ?? []).map(readMessage),
  };
}
