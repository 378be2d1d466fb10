import { InvalidObservationError, MalformedMessageError } from './errors.js';
import { ipv4Octets, ipv6Octets } from './ip-address.js';
import { escapedOctets, fieldOctets, quotedOctets } from './master-text.js';
import type { MessageReader } from './message-reader.js';
import {
  encodedOctets,
  integerOctets,
  ipv4,
  ipv6,
  lengthBefore,
  oneOrMore,
  type RdataCodec,
  untilEnd,
} from './rdata-codec.js';
import { quoted } from './text.js';

/** A parameter's value in both forms. */
interface ParameterValue {
  /** From the text of the value, its escapes and quotes taken away. */
  write(value: string): Buffer;
  /** From all octets of the value. */
  read(value: MessageReader): string;
}

interface Parameter {
  readonly name: string;
  /** Absent: the parameter has no value. */
  readonly value?: ParameterValue;
}

const MANDATORY = 0;
const KEYS = 65_535;

/** The parameters of RFC 9460, section 7, by their keys, and those of RFC 9461 and RFC 9540. */
const PARAMETERS: readonly Parameter[] = [
  {
    name: 'mandatory',
    value: {
      write: (value) => {
        const keys = value.split(',').map(keyNumber);
        return Buffer.concat(keys.sort((a, b) => a - b).map((key) => integerOctets(String(key), 2)));
      },
      read: (value) =>
        ascending(oneOrMore(value, () => value.uint16()))
          .map(keyName)
          .join(','),
    },
  },
  {
    name: 'alpn',
    value: {
      write: (value) => Buffer.concat(protocolsOf(value).map(lengthBefore)),
      read: (value) => `"${oneOrMore(value, protocol).join(',')}"`,
    },
  },
  { name: 'no-default-alpn' },
  {
    name: 'port',
    value: { write: (value) => integerOctets(value, 2), read: (value) => String(value.uint16()) },
  },
  {
    name: 'ipv4hint',
    value: list(ipv4Octets, ipv4.read),
  },
  {
    name: 'ech',
    value: {
      write: (value) => encodedOctets(value, 'base64'),
      read: (value) => value.rest().toString('base64'),
    },
  },
  { name: 'ipv6hint', value: list(ipv6Octets, ipv6.read) },
  {
    name: 'dohpath',
    value: { write: (value) => Buffer.from(value, 'latin1'), read: (value) => quotedOctets(value.rest()) },
  },
  { name: 'ohttp' },
];

/** The parameters of an SVCB or HTTPS record (RFC 9460, section 2.1), in the order of their keys. */
export const serviceParameters: RdataCodec = {
  write: (text) => {
    const parameters = text.rest().map(parameterOctets);
    return Buffer.concat(parameters.sort((a, b) => a.readUInt16BE(0) - b.readUInt16BE(0)));
  },
  read: serviceParametersText,
};

function serviceParametersText(rdata: MessageReader): string {
  let mandatory: readonly number[] = [];
  const keys: number[] = [];
  const shown = untilEnd(rdata, () => {
    const key = rdata.uint16();
    const value = rdata.part(rdata.uint16());
    if (key === MANDATORY) mandatory = untilEnd(value.fork(), (list) => list.uint16());
    keys.push(key);
    return parameterText(key, value);
  });
  ascending(keys);
  if (mandatory.every((key) => key !== MANDATORY && keys.includes(key))) return shown.join(' ');
  throw new MalformedMessageError('a mandatory parameter is missing');
}

/** @throws MalformedMessageError for keys that are not in increasing order. */
function ascending(keys: readonly number[]): readonly number[] {
  if (keys.every((key, at) => at === 0 || key > (keys[at - 1] ?? key))) return keys;
  throw new MalformedMessageError('service parameters that are not in order, or one twice');
}

function parameterText(key: number, value: MessageReader): string {
  const known = PARAMETERS[key];
  const name = keyName(key);
  if (value.isAtEnd && canBeEmpty(key)) return name;
  if (known === undefined) return `${name}=${quotedOctets(value.rest())}`;
  const text = known.value?.read(value);
  if (value.isAtEnd && text !== undefined) return `${name}=${text}`;
  throw new MalformedMessageError(`a wrong value of the service parameter ${name}`);
}

/** BIND takes `ech` without a value too, and writes it so. */
function canBeEmpty(key: number): boolean {
  const known = PARAMETERS[key];
  return known?.value === undefined || known.name === 'ech';
}

/** `key`, `key=value` or `key="value"`. `keyN=` has octets as the value of every key. */
function parameterOctets(text: string): Buffer {
  const [, name = '', given = ''] = /^([^=]*)=?(.*)$/s.exec(text) ?? [];
  const key = keyNumber(name);
  const octets = fieldOctets(given.replace(/^"(.*)"$/s, '$1'));
  const known = /^key\d/i.test(name) ? undefined : PARAMETERS[key];
  const value =
    known?.value === undefined || octets.length === 0 ? octets : known.value.write(octets.toString('latin1'));
  return Buffer.concat([integerOctets(String(key), 2), integerOctets(String(value.length), 2), value]);
}

function keyNumber(name: string): number {
  const lower = name.toLowerCase();
  const key = PARAMETERS.findIndex((parameter) => parameter.name === lower);
  const number = key === -1 ? Number(/^key(0|[1-9]\d{0,4})$/.exec(lower)?.[1] ?? Number.NaN) : key;
  if (number <= KEYS) return number;
  throw new InvalidObservationError(`${quoted(name)} is not a key of service parameters.`);
}

function keyName(key: number): string {
  return PARAMETERS[key]?.name ?? `key${key}`;
}

function list(write: (item: string) => Buffer, read: (value: MessageReader) => string): ParameterValue {
  return {
    write: (value) => Buffer.concat(value.split(',').map(write)),
    read: (value) => oneOrMore(value, read).join(','),
  };
}

/** RFC 9460, section 7.1.1 and appendix A.1: commas and backslashes are escaped once more in a list. */
function protocol(value: MessageReader): string {
  const octets = value.characterString();
  if (octets.length === 0) throw new MalformedMessageError('an empty protocol');
  return escapedOctets(Buffer.from(octets.toString('latin1').replace(/[,\\]/g, '\\$&'), 'latin1'));
}

function protocolsOf(value: string): Buffer[] {
  const items = value.match(/(?:^|(?<=,))(?:\\.|[^\\,])*(?=,|$)|\\$/gs) ?? [];
  return items.map((item) => Buffer.from(item.replace(/\\(.)/gs, '$1'), 'latin1'));
}
