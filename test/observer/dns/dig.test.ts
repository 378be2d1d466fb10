import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HEADER_LENGTH, MessageReader } from '../../../src/model/message-reader.js';
import { parseRdataText, readRdata } from '../../../src/model/rdata-text.js';
import { HAS_DEBIAN_SERVERS } from '../../support/debian-servers.js';
import { changed } from '../../support/dns-behaviours.js';
import { startDnsServer } from '../../support/dns-server.js';
import { octetsNearExamples } from '../../support/rdata-examples.js';

const QUESTIONS = 1500;
const OPT_LENGTH = 11;
const OPTIONS = ['+noall', '+answer', '+tries=1', '+time=5'];

/** The name whose records have these octets as their rdata. */
function nameOf(octets: Buffer, at: number): string {
  return [String(at), ...(octets.toString('hex').match(/.{1,60}/g) ?? []), 'test'].join('.');
}

/** The rdata of the only record of a message: a name in it may point to what stands before it. */
function readerOf(message: Buffer, octets: Buffer): MessageReader {
  const end = message.length - message.readUInt16BE(10) * OPT_LENGTH;
  return new MessageReader(message, end - octets.length, end, new Map());
}

/** dig reads a name there; the observer takes such rdata for malformed, since no server means it. */
function pointsToHeader(octets: Buffer): boolean {
  return octets.some((octet, at) => octet === 0xc0 && (octets[at + 1] ?? HEADER_LENGTH) < HEADER_LENGTH);
}

function octetsOf(name: string): Buffer {
  return Buffer.from(name.split('.').slice(1, -1).join(''), 'hex');
}

test.skipIf(!HAS_DEBIAN_SERVERS)('what dig prints of any octets is the record that is observed', async () => {
  const server = await startDnsServer();
  server.generate((name) => [String.raw`\# ${octetsOf(name).length} ${octetsOf(name).toString('hex')}`]);
  const sent = new Map<string, Buffer>();
  server.behave(
    '*',
    changed((message, { name }) => {
      sent.set(name, message);
      return message;
    }),
  );
  const samples = fc
    .sample(octetsNearExamples, QUESTIONS)
    .filter(([, octets]) => octets.length > 0 && octets.length < 110 && !pointsToHeader(octets))
    .map(([type, octets], at) => ({ type, octets, name: nameOf(octets, at) }));
  const questions = samples.flatMap(({ type, name }) => ['-q', name, '-t', type, ...OPTIONS]);
  // It fails where a message is malformed for it: what it prints of the others counts.
  const dig = promisify(execFile)('dig', ['@127.0.0.1', '-p', String(server.port), ...questions], {
    maxBuffer: 2 ** 26,
  });
  const { stdout } = await dig.catch((failure: { stdout: string }) => failure);
  await server.close();

  const printed = new Map(
    Array.from(
      stdout.matchAll(/^(\S+)\.[ \t]+\d+[ \t]+IN[ \t]+\S+[ \t]*(.*)$/gm),
      ([, name = '', text = '']) => [name, text],
    ),
  );
  for (const { type, octets, name } of samples) {
    const text = printed.get(name);
    const message = sent.get(name);
    if (text === undefined || message === undefined) continue;
    const observed = readRdata(type, readerOf(message, octets));
    expect(parseRdataText(type, text), `${type} ${octets.toString('hex')} ${text}`).toEqual(observed);
  }
  expect(printed.size).toBeGreaterThan(QUESTIONS / 5);
});
