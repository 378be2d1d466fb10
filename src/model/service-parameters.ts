import { MalformedMessageError } from './errors.js';
import { ipv4Octets, ipv6Octets } from './ip-address.js';
import { escapedOctets, fieldOctets, quotedOctets } from './master-text.js';
import type { MessageReader } from './message-reader.js';
import * as codecs from './rdata-codec.js';
import { invalidText } from './text.js';

interface ParameterValue {
  /** @param value Without its escapes and quotes. */
  write(value: string): Buffer;
  read(value: MessageReader): string;
  /** BIND takes `ech` without a value too, and writes it so. */
  readonly canBeEmpty?: true;
}

/** RFC 9460, section 7, from key 0 on, RFC 9461 and RFC 9540. Null: the parameter has no value. */
const PARAMETERS: Readonly<Record<string, ParameterValue | null>> = {
  mandatory: {
    write: (value) => Buffer.concat(value.split(',').map(keyOctets).sort(Buffer.compare)),
    read: (value) => codecs.untilEnd(value, () => keyName(value.uint16()), 1).join(','),
  },
  alpn: {
    write: (value) => Buffer.concat(protocolsIn(value).map(codecs.lengthBefore)),
    read: (value) => `"${codecs.untilEnd(value, protocol, 1).join(',')}"`,
  },
  'no-default-alpn': null,
  port: { write: (value) => codecs.integerOctets(value, 2), read: (value) => String(value.uint16()) },
  ipv4hint: addresses(ipv4Octets, codecs.ipv4),
  ech: {
    write: (value) => codecs.encodedOctets(value, 'base64'),
    read: (value) => value.rest().toString('base64'),
    canBeEmpty: true,
  },
  ipv6hint: addresses(ipv6Octets, codecs.ipv6),
  dohpath: { write: (value) => Buffer.from(value, 'latin1'), read: (value) => quotedOctets(value.rest()) },
  ohttp: null,
};
const NAMES = Object.keys(PARAMETERS);

function addresses(write: (address: string) => Buffer, { read }: codecs.RdataCodec): ParameterValue {
  return {
    write: (value) => Buffer.concat(value.split(',').map(write)),
    read: (value) => codecs.untilEnd(value, read, 1).join(','),
  };
}

/** RFC 9460, section 2.1. In the order of their keys. */
export const serviceParameters: codecs.RdataCodec = {
  write: (text) => Buffer.concat(text.rest().map(parameterOctets).sort(Buffer.compare)),
  read: (rdata) => {
    let mandatory: readonly number[] = [];
    const keys: number[] = [];
    const readParameter = () => {
      const key = rdata.uint16();
      const value = rdata.part(rdata.uint16());
      if (key === 0) mandatory = codecs.untilEnd(value.fork(), (all) => all.uint16(), 0);
      keys.push(key);
      return parameterText(key, value);
    };
    const shown = codecs.untilEnd(rdata, readParameter, 0);
    const isInOrder = isAscending(keys) && isAscending(mandatory);
    codecs.requireRdata(isInOrder, 'service parameters out of order, or repeated');
    const isComplete = mandatory.every((key) => key !== 0 && keys.includes(key));
    codecs.requireRdata(isComplete, 'a mandatory parameter is missing');
    return shown.join(' ');
  },
};

function isAscending(keys: readonly number[]): boolean {
  return keys.every((key, at) => at === 0 || key > (keys[at - 1] ?? key));
}

function parameterText(key: number, value: MessageReader): string {
  const name = keyName(key);
  const known = PARAMETERS[name];
  if (value.isAtEnd && (!known || known.canBeEmpty)) return name;
  if (known === undefined) return `${name}=${quotedOctets(value.rest())}`;
  const text = known?.read(value);
  if (value.isAtEnd && text !== undefined) return `${name}=${text}`;
  throw new MalformedMessageError(`a wrong value of the service parameter ${name}`);
}

function keyName(key: number): string {
  return NAMES[key] ?? `key${key}`;
}

/** `key`, `key=value` or `key="value"`. `keyN=` has octets as the value of every key. */
function parameterOctets(text: string): Buffer {
  const [, name = '', given = ''] = /^([^=]*)=?(.*)$/s.exec(text) ?? [];
  const key = keyOctets(name);
  const octets = fieldOctets(given.replace(/^"(.*)"$/s, '$1'));
  const known = PARAMETERS[name.toLowerCase()];
  const value = known && octets.length > 0 ? known.write(octets.toString('latin1')) : octets;
  return Buffer.concat([key, codecs.integerOctets(value.length, 2), value]);
}

function keyOctets(name: string): Buffer {
  const lower = name.toLowerCase();
  const number = /^key(0|[1-9]\d{0,4})$/.exec(lower)?.[1] ?? NAMES.indexOf(lower);
  if (number === -1) throw invalidText(name, 'a key of service parameters');
  return codecs.integerOctets(number, 2);
}

/** RFC 9460, section 7.1.1 and appendix A.1: commas and backslashes are escaped once more in a list. */
function protocol(value: MessageReader): string {
  const octets = value.characterString();
  codecs.requireRdata(octets.length > 0, 'an empty protocol');
  return escapedOctets(Buffer.from(octets.toString('latin1').replace(/[,\\]/g, '\\$&'), 'latin1'));
}

function protocolsIn(value: string): Buffer[] {
  const items = value.match(/(?:^|(?<=,))(?:\\.|[^\\,])*(?=,|$)|\\$/gs) ?? [];
  return items.map((item) => Buffer.from(item.replace(/\\(.)/gs, '$1'), 'latin1'));
}
