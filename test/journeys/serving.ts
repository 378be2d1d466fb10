import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import pLimit from 'p-limit';
import { expect } from 'vitest';
import { requireDocumentedAnswers } from '../support/documented-fetch.js';
import { type CommandResult, startDms, startLocalDms } from './dms-command.js';

export type LocalServing = Awaited<ReturnType<typeof serveLocally>>;

/** As serve(), in the process of the test: for what is answered, not for how the process behaves. */
export async function serveLocally(environment: Readonly<Record<string, string>>) {
  const { stdout, result, stop } = startLocalDms(['serve'], { ...environment, PORT: '0' });
  const url = await addressOf(stdout, result);
  const close = async () => {
    stop();
    expect(await result).toMatchObject({ code: 0 });
  };
  return { url, close };
}

export type Serving = Awaited<ReturnType<typeof serve>>;

/**
 * Starts `dms serve` on a database. What its REST v1 answers to fetch() must be documented.
 *
 * @returns `close` ends it, and gives what it has said on standard error; `end` ends it, unless it has ended, and tells how.
 */
export async function serve(environment: Readonly<Record<string, string>>) {
  const { child, result } = startDms(['serve'], { ...environment, PORT: '0' });
  const url = await addressOf(child.stdout, result);
  const end = () => {
    child.kill('SIGTERM');
    return result;
  };
  return { url, child, result, end, close: async () => (await end()).stderr };
}

/** Settles with the welcome of `dms serve`. @throws Error with what it said, if it ends instead. */
export async function untilServing(
  stdout: Readable | null,
  result: Promise<CommandResult>,
): Promise<{ said: string; url: string; metricsUrl: string }> {
  const welcome = new Promise<string>((resolve) => {
    let text = '';
    stdout?.on('data', (part: string) => {
      text += part;
      if (text.includes('Stop with Ctrl-C.')) resolve(text);
    });
  });
  const failure = result.then(({ code, stderr }): never => {
    throw new Error(`It ended with ${code}: ${stderr}`);
  });
  const said = await Promise.race([welcome, failure]);
  const url = /^Serving at (\S+)\/$/m.exec(said)?.[1] ?? '';
  return { said, url, metricsUrl: /^Metrics: +(\S+)\/metrics$/m.exec(said)?.[1] ?? '' };
}

/** The address of `dms serve`, without a slash at the end, whose answers must be documented until it ends. */
async function addressOf(stdout: Readable | null, result: Promise<CommandResult>): Promise<string> {
  const { url } = await untilServing(stdout, result);
  const endRequirement = requireDocumentedAnswers(url);
  result.finally(endRequirement).catch(() => {});
  return url;
}

const QUERY = '{"query":"{__typename}"}';

/** A request whose body is not complete, on a connection of its own. What comes of one that is cut off is ''. */
export function beginRequest(url: string): { response: Promise<string>; finish(): void } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  const head = 'POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n';
  socket.write(`${head}content-length: ${QUERY.length}\r\n\r\n`);
  return { response: text(socket).catch(() => ''), finish: () => socket.write(QUERY) };
}

const CONCURRENCY = 8;
const MOST_TRIES = 5;

/** What Get domain answers for each domain, with a query if there is one; a 503 of a busy machine is requested again. */
export async function answersOf(url: string, domains: Iterable<string>, query = '') {
  const ask = async (domain: string) => {
    const path = `${url}/api/v1/domain/${domain}${query}`;
    let response = await fetch(path);
    for (let time = 1; response.status === 503 && time < MOST_TRIES; time += 1) {
      await response.text();
      response = await fetch(path);
    }
    return [domain, await response.text()] as const;
  };
  return new Map(await pLimit(CONCURRENCY).map(domains, ask));
}

/** The same of a database that nothing serves. */
export async function answersIn(
  environment: Readonly<Record<string, string>>,
  domains: Iterable<string>,
): Promise<Map<string, string>> {
  const { url, close } = await serveLocally(environment);
  try {
    return await answersOf(url, domains);
  } finally {
    await close();
  }
}

/**
 * The domains whose answers differ, each with both bodies: short where everything is equal, and telling
 * where it is not.
 */
export function differences(
  expected: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): { domain: string; expected: string | undefined; found: string | undefined }[] {
  const domains = new Set([...expected.keys(), ...found.keys()]);
  return [...domains]
    .filter((domain) => expected.get(domain) !== found.get(domain))
    .map((domain) => ({ domain, expected: expected.get(domain), found: found.get(domain) }));
}
