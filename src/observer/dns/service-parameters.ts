import { canonicalIpv6 } from '../../model/ip-address.js';
import { MalformedMessageError } from './malformed.js';
import type { MessageReader } from './message-reader.js';
import { escapedOctets, quotedOctets } from './quoted-octets.js';

/** The value of a parameter in presentation, from all of its octets. */
type PresentedValue = (value: MessageReader) => string;

interface Parameter {
  readonly name: string;
  /** Absent: the parameter has no value. */
  readonly value?: PresentedValue;
}

/** The parameters of RFC 9460, section 7, by their keys, and those of RFC 9461 and RFC 9540. */
const PARAMETERS: readonly Parameter[] = [
  { name: 'mandatory', value: list((value) => keyName(value.uint16())) },
  { name: 'alpn', value: protocols },
  { name: 'no-default-alpn' },
  { name: 'port', value: (value) => String(value.uint16()) },
  { name: 'ipv4hint', value: list((value) => value.octets(4).join('.')) },
  { name: 'ech', value: (value) => value.rest().toString('base64') },
  { name: 'ipv6hint', value: list(ipv6Text) },
  { name: 'dohpath', value: (value) => quotedOctets(value.rest()) },
  { name: 'ohttp' },
];

/**
 * The target's parameters of an SVCB or HTTPS record (RFC 9460, section 2.1), in the order of their keys
 * and with single spaces between them.
 *
 * @throws MalformedMessageError for keys that are not in increasing order, and for a value that its key
 * does not allow.
 */
export function serviceParametersText(rdata: MessageReader): string {
  const shown: string[] = [];
  for (let latest = -1; !rdata.isAtEnd; ) {
    const key = rdata.uint16();
    if (key <= latest) throw new MalformedMessageError('service parameters that are not in order');
    latest = key;
    shown.push(parameterText(key, rdata.part(rdata.uint16())));
  }
  return shown.join(' ');
}

function parameterText(key: number, value: MessageReader): string {
  const known = PARAMETERS[key];
  const name = keyName(key);
  if (known === undefined) return value.isAtEnd ? name : `${name}=${quotedOctets(value.rest())}`;
  const text = known.value === undefined || value.isAtEnd ? undefined : known.value(value);
  if (!value.isAtEnd || (text === undefined) !== (known.value === undefined)) {
    throw new MalformedMessageError(`a wrong value of the service parameter ${name}`);
  }
  return text === undefined ? name : `${name}=${text}`;
}

function keyName(key: number): string {
  return PARAMETERS[key]?.name ?? `key${key}`;
}

function list(item: PresentedValue): PresentedValue {
  return (value) => {
    const items: string[] = [];
    while (!value.isAtEnd) items.push(item(value));
    return items.join(',');
  };
}

/** RFC 9460, section 7.1.1 and appendix A.1: commas and backslashes are escaped once more in a list. */
function protocols(value: MessageReader): string {
  const items: string[] = [];
  while (!value.isAtEnd) {
    const protocol = value.characterString();
    if (protocol.length === 0) throw new MalformedMessageError('an empty protocol');
    const listed = protocol.toString('latin1').replace(/[,\\]/g, '\\$&');
    items.push(escapedOctets(Buffer.from(listed, 'latin1')));
  }
  return `"${items.join(',')}"`;
}

function ipv6Text(value: MessageReader): string {
  return canonicalIpv6(Array.from({ length: 8 }, () => value.uint16().toString(16)).join(':'));
}
