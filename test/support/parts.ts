export interface OpenParts {
  readonly response: Response;
  /** The body of the next part; undefined: the response has ended as it should (RFC 2046, section 5.1.1). */
  next(): Promise<object | undefined>;
  close(): void;
}

/** What Apollo Client's HttpLink accepts for a subscription. */
export const ACCEPT_PARTS =
  'multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/graphql-response+json,application/json;q=0.9';

export async function openParts(url: string, init: RequestInit = {}): Promise<OpenParts> {
  const controller = new AbortController();
  const headers = { accept: ACCEPT_PARTS, ...init.headers };
  const response = await fetch(url, { ...init, headers, signal: controller.signal });
  const parts = partsIn(response);
  return {
    response,
    next: async () => (await parts.next()).value ?? undefined,
    close: () => controller.abort(),
  };
}

/** @throws Error where the response has another form, or breaks off. */
async function* partsIn({ headers, body }: Response): AsyncGenerator<object, undefined, void> {
  const [, boundary] = /^multipart\/mixed;boundary="([^"]+)"/.exec(headers.get('content-type') ?? '') ?? [];
  if (body === null || boundary === undefined) throw new Error('The response has no parts.');
  const delimiter = `\r\n--${boundary}`;
  let text = '';
  let isBegun = false;
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf(delimiter); end !== -1; end = text.indexOf(delimiter)) {
      const part = text.slice(0, end);
      text = text.slice(end + delimiter.length);
      if (isBegun) yield bodyOf(part);
      else if (part !== '') throw new Error(`There is text before the first part: ${part}`);
      isBegun = true;
    }
  }
  if (!isBegun || text !== '--\r\n') throw new Error(`The response ends with ${JSON.stringify(text)}.`);
}

function bodyOf(part: string): object {
  const head = '\r\nContent-Type: application/json\r\n\r\n';
  if (!part.startsWith(head)) throw new Error(`A part is not JSON: ${part}`);
  return JSON.parse(part.slice(head.length));
}
