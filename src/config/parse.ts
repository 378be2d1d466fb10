import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { SCOPES, type Scope } from '../auth/viewer.js';
import { UsageError } from '../model/errors.js';

/**
 * The complaint about a setting.
 *
 * @param advice What to write instead, such as `write a port from 0 to 65535`.
 */
export function badSetting(name: string, value: string, advice: string): UsageError {
  return new UsageError(`${name} is ${JSON.stringify(value)}: ${advice}.`);
}

/** @throws UsageError for anything but a whole number within the bounds. */
export function parseInteger(name: string, value: string, lowest: number, highest: number): number {
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (number >= lowest && number <= highest) return number;
  throw badSetting(name, value, `write a whole number from ${lowest} to ${highest}`);
}

const BYTES_OF_UNIT: Readonly<Record<string, number>> = { '': 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

/** A size such as `512`, `16kB`, `4MB` or `1GB`, in bytes. @throws UsageError for anything else. */
export function parseSize(name: string, value: string, lowest: number, highest: number): number {
  const [, digits = '', unit = ''] = /^(\d{1,15}) ?((?:[kmg]b)?)$/i.exec(value) ?? [];
  const bytes =
    digits === '' ? Number.NaN : Number(digits) * (BYTES_OF_UNIT[unit.toLowerCase()] ?? Number.NaN);
  if (bytes >= lowest && bytes <= highest) return bytes;
  const bounds = `from ${lowest} to ${highest} bytes`;
  throw badSetting(name, value, `write a size ${bounds}, such as 65536, 64kB or 4MB`);
}

/** @throws UsageError for anything but one of the choices. */
export function parseChoice<Choice extends string>(
  name: string,
  value: string,
  choices: readonly Choice[],
): Choice {
  const choice = choices.find((candidate) => candidate === value);
  if (choice !== undefined) return choice;
  throw badSetting(name, value, `write ${choices.join(' or ')}`);
}

const PATH_SEGMENT = /^[A-Za-z0-9._~-]+$/;

/**
 * A path before all others, as '' or `/a/b`: slashes at its ends do not matter.
 *
 * @throws UsageError for segments that a client would have to escape, or would resolve away.
 */
export function parseBasePath(name: string, value: string): string {
  const segments = value.replace(/^\/|\/$/g, '').split('/');
  if (segments.length === 1 && segments[0] === '') return '';
  const valid = segments.every((part) => PATH_SEGMENT.test(part) && part !== '.' && part !== '..');
  if (valid) return `/${segments.join('/')}`;
  throw badSetting(name, value, 'write a path of letters, digits, ".", "_", "~" and "-", such as /dms');
}

/** @throws UsageError, which never shows the value, for anything but an address of a PostgreSQL database. */
export function parseDatabaseUrl(name: string, value: string): string {
  const protocol = URL.canParse(value) ? new URL(value).protocol : '';
  if (protocol === 'postgresql:' || protocol === 'postgres:') return value;
  throw new UsageError(
    `${name} is no address of a PostgreSQL database (it is not shown, since it may hold a password): ` +
      'write postgresql://user:password@host:5432/name, or leave it unset for the embedded database.',
  );
}

/** Scopes between commas or spaces; none at all is a set too. @throws UsageError for an unknown one. */
export function parseScopes(name: string, value: string): ReadonlySet<Scope> {
  return new Set(splitList(value).map((part) => parseScope(name, value, part)));
}

function parseScope(name: string, value: string, part: string): Scope {
  const scope = SCOPES.find((candidate) => candidate === part);
  if (scope !== undefined) return scope;
  throw badSetting(name, value, `${part} is no scope; write some of ${SCOPES.join(', ')}, or nothing`);
}

const NAMED_SUBNETS = ['loopback', 'linklocal', 'uniquelocal'];

/**
 * A number of hops, or addresses, subnets and Express' names of subnets between commas.
 *
 * @throws UsageError for anything else.
 */
export function parseTrustProxy(name: string, value: string): number | readonly string[] {
  if (/^\d{1,3}$/.test(value)) return Number(value);
  const parts = splitList(value).map((part) => (NAMED_SUBNETS.includes(part) ? part : canonicalSubnet(part)));
  if (parts.length > 0 && parts.every((part) => part !== undefined)) return parts;
  throw badSetting(
    name,
    value,
    'write the number of proxies before this server, such as 1, or their addresses, such as 10.0.0.0/8, 192.0.2.1, loopback, linklocal or uniquelocal',
  );
}

/** Undefined for what is none. Express does not read every form of an address. */
function canonicalSubnet(text: string): string | undefined {
  const [address = '', length, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || !ipaddr.isValid(address) || rest.length > 0) return undefined;
  const canonical = ipaddr.parse(address).toString();
  if (length === undefined) return canonical;
  // Of length 0 would be everybody, and nobody's word is worth anything then.
  const known = /^[1-9]\d{0,2}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128);
  return known ? `${canonical}/${length}` : undefined;
}

/** The parts of a list between commas or blanks. */
export function splitList(value: string): string[] {
  return value.split(/[\s,]+/).filter((part) => part !== '');
}
