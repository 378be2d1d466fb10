import { isUtf8 } from 'node:buffer';
import {
  type Difference,
  differencesOf,
  type Expectation,
  type Found,
  partOf,
} from '../../history/expectation.js';
import { headerPeriods } from '../../history/header-periods.js';
import { isKnown, staysAsOf } from '../../history/stays-as-of.js';
import {
  expectationOfZone,
  expectationsOfObservations,
  expectationsOfYaml,
} from '../../importers/expectations.js';
import { createParser, type ImportFormat } from '../../importers/formats.js';
import { readJsonTexts } from '../../importers/json-texts.js';
import { textOf } from '../../importers/lines.js';
import { openInput } from '../../importers/open-input.js';
import { attempt } from '../../model/attempt.js';
import type { DnsRecord } from '../../model/dns-record.js';
import { InvalidDomainError, InvalidObservationError, OperationError } from '../../model/errors.js';
import { type Instant, parseInstant, requireReached } from '../../model/instant.js';
import type { Observation } from '../../model/observation.js';
import { presentRdata } from '../../model/rdata-text.js';
import { readHistories } from '../../recorder/read-histories.js';
import type { CommandContext } from '../command-context.js';
import { parseDomain } from '../domain-arguments.js';
import { printable } from '../history-text.js';
import { readOption } from '../option-values.js';
import { counted } from '../table.js';
import { jsonLine, writeText } from '../write-text.js';

/** A list of sightings, such as passive DNS, is complete for nothing. */
type CheckFormat = 'auto' | 'zone' | 'yaml' | 'json' | Exclude<ImportFormat, 'cof'>;

export interface CheckOptions {
  readonly format: CheckFormat;
  readonly origin?: string;
  /** In the form of RFC 3339. */
  readonly at?: string;
  readonly observe: boolean;
  readonly json: boolean;
}

/** As diff(1) has it: 1 is for what differs, and this for what could not be compared. */
const [DIFFERENT, NOT_COMPARED] = [1, 2];

/** `dms check FILE`: compares what should be with what is recorded, or with what is observed now. */
export async function runCheck(context: CommandContext, file: string, options: CheckOptions): Promise<void> {
  context.failure.code = NOT_COMPARED;
  const at = timeOf(context, options);
  const all = await readExpectations(context, file, options);
  const { expectations, found, unseen } = options.observe
    ? await (await import('./check-observed.js')).observeExpected(context, all)
    : { expectations: all, found: await findRecorded(context, all, at), unseen: NOTHING_UNSEEN };
  const differences = differencesOf(expectations, found).filter(
    (difference) => unseen.get(difference.domain)?.has(partOf(difference)) !== true,
  );
  const text = differences.map(options.json ? asJson : asText).join('');
  if (text !== '') await writeText(context.stdout, text);
  const domains = new Set(differences.map(({ domain }) => domain));
  for (const domain of domains) {
    if (!found.has(domain))
      context.notes.write(`Nothing is recorded of ${domain}${at === undefined ? '' : ' up to then'}.\n`);
  }
  if (domains.size > 0) {
    context.setExitCode(DIFFERENT);
    const where = counted(domains.size, 'domain', 'domains');
    context.notes.write(`${counted(differences.length, 'difference', 'differences')} in ${where}.\n`);
  } else if (unseen.size === 0) context.notes.write('All is as it should be.\n');
  if (unseen.size > 0)
    throw new OperationError(`Not compared, since it could not be observed: ${listOf(unseen)}.`);
}

type Unseen = ReadonlyMap<string, ReadonlyMap<string, string>>;

const NOTHING_UNSEEN: Unseen = new Map();

function listOf(unseen: Unseen): string {
  const parts = [...unseen].flatMap(([domain, reasons]) =>
    Array.from(reasons, ([part, reason]) => `${part} of ${domain} (${reason})`),
  );
  return parts.join(', ');
}

function timeOf(context: CommandContext, { at }: CheckOptions): Instant | undefined {
  if (at === undefined) return undefined;
  return readOption('--at', () => requireReached(parseInstant(at), context.now()));
}

async function findRecorded(
  context: CommandContext,
  expectations: readonly Expectation[],
  at: Instant | undefined,
): Promise<ReadonlyMap<string, Found>> {
  const named = expectations.flatMap(({ domain, domainsOf, records }) => [
    ...(domain === null ? [] : [domain]),
    ...records.flatMap(({ host }) => domainsOf(host)),
  ]);
  const names = [...new Set(named)];
  const found = new Map<string, Found>();
  await context.withConnections('fail', async ({ pool }) => {
    for await (const history of readHistories(pool, names)) {
      if (!isKnown(history.state.created, at)) continue;
      const records = staysAsOf(history, at).filter(({ removed }) => removed === null);
      const headers = headerPeriods(history, at).filter(({ removed }) => removed === null);
      found.set(history.name, {
        records: records.map(({ record }) => record),
        headers: new Map(headers.map(({ name, value }) => [name, value])),
      });
    }
  });
  return found;
}

/** @throws OperationError for a file that cannot be read, is not valid, or says nothing. */
async function readExpectations(
  context: CommandContext,
  file: string,
  { format, origin }: CheckOptions,
): Promise<readonly Expectation[]> {
  const input = await openInput(file, context.stdin, () => {});
  const chunks: Buffer[] = [];
  for await (const chunk of input.bytes) chunks.push(chunk);
  const octets = Buffer.concat(chunks);
  const form = format === 'auto' ? formOf(octets.toString()) : format;
  try {
    const expectations = await expectationsIn(context, input.name, octets, { form, origin });
    if (expectations.some(({ domain, records }) => domain !== null || records.length > 0))
      return expectations;
    throw new InvalidObservationError('it says nothing of what should be.');
  } catch (error) {
    if (!(error instanceof InvalidObservationError || error instanceof InvalidDomainError)) throw error;
    const read = `It was read as ${form === 'auto' ? 'observations' : form}: use --format if it is something else.`;
    throw new OperationError(`${input.name}, ${error.message}${format === 'auto' ? ` ${read}` : ''}`);
  }
}

async function expectationsIn(
  context: CommandContext,
  name: string,
  octets: Buffer,
  { form, origin }: { readonly form: CheckFormat; readonly origin: string | undefined },
): Promise<readonly Expectation[]> {
  if (!isUtf8(octets)) throw new InvalidObservationError('the file is not UTF-8.');
  const text = octets.toString();
  if (form === 'yaml' || form === 'json') return expectationsOfYaml(text);
  if (form !== 'zone') return expectationsOfObservations(await observationsIn(context, name, octets, form));
  return [expectationOfZone(text, origin === undefined ? undefined : `${parseDomain(origin)}.`)];
}

/** A JSON object has `records` or `headers`, which no observation has; else YAML is told by how it begins. */
function formOf(text: string): CheckFormat {
  const [first = ''] = /^.+/.exec(text.replace(/^\ufeff?\s*/, '')) ?? [];
  if (/^[{[]/.test(first)) return /(?<!\\)"(?:records|headers)"\s*:/.test(text) ? 'json' : 'auto';
  return /^(?:---|#|%YAML|- |(?:domain|records|headers)\s*:)/.test(first) ? 'yaml' : 'zone';
}

async function observationsIn(
  context: CommandContext,
  name: string,
  octets: Buffer,
  format: 'auto' | ImportFormat,
): Promise<readonly Observation[]> {
  const { limits, observe } = context.settings();
  const { now } = context;
  const options = { name, now, limits, ignoredHeaders: observe.ignoredHeaders, observedAt: now() };
  const parse = createParser(format, { ...options, onDetected: () => {} });
  const observations: Observation[] = [];
  const source = (async function* () {
    yield octets;
  })();
  for await (const lines of readJsonTexts(source, limits.line)) {
    for (const line of lines) {
      try {
        for (const observation of parse(textOf(line)).observations) observations.push(observation);
      } catch (error) {
        throw error instanceof InvalidObservationError
          ? new InvalidObservationError(`line ${line.number}: ${error.message}`)
          : error;
      }
    }
  }
  return observations;
}

/** Of the record's data, as a master file has it where one can. */
function rdataOf(record: DnsRecord): string {
  return attempt(() => presentRdata(record)) ?? record.rdata;
}

function asText({ domain, name, expected, found }: Difference): string {
  const line = (mark: string, value: DnsRecord | string | null) => {
    if (value === null) return '';
    const shown =
      typeof value === 'string' ? `${domain} ${name}: ${value}` : `${name} ${value.type} ${rdataOf(value)}`;
    return `${mark} ${printable(shown)}\n`;
  };
  return line('-', expected) + line('+', found);
}

function asJson({ domain, name, expected, found }: Difference): string {
  const side = expected ?? found;
  const type = side === null || typeof side === 'string' ? 'header' : side.type;
  const kind = found === null ? 'missing' : expected === null ? 'unexpected' : 'different';
  const [one, other] = [expected, found].map((value) =>
    value === null || typeof value === 'string' ? value : rdataOf(value),
  );
  return jsonLine({ domain, kind, type, name, expected: one, found: other });
}
