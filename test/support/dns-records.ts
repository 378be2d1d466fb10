import { nameOctets, uint16 } from './dns-octets.js';

/** Octets from hexadecimal, with other octets between. */
export function hex(texts: TemplateStringsArray, ...parts: readonly Buffer[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text, at) => [Buffer.from(text.replaceAll(/\s/g, ''), 'hex'), parts[at] ?? Buffer.of()]),
  );
}

function sized(rdata: Buffer): Buffer {
  return Buffer.concat([uint16(rdata.length), rdata]);
}

/** MNAME, RNAME, SERIAL, REFRESH, RETRY, EXPIRE, MINIMUM. */
export const SOA_RDATA = hex`${nameOctets('ns.test')} ${nameOctets('host.test')} 00000001 00000e10 00000384 00127500 0000012c`;

/** A resource record; it is of class IN unless another is given. */
export function rr(owner: Buffer, type: number, rdata: Buffer, dnsClass = 1): Buffer {
  return hex`${owner} ${uint16(type, dnsClass)} 0000003c ${sized(rdata)}`;
}

export const address = (owner: string) => rr(nameOctets(owner), 1, hex`cb007107`);
export const ns = (owner: string) => rr(nameOctets(owner), 2, nameOctets('ns.elsewhere.test'));
export const cname = (owner: string, target: string) => rr(nameOctets(owner), 5, nameOctets(target));
export const soa = (owner: string, dnsClass = 1) => rr(nameOctets(owner), 6, SOA_RDATA, dnsClass);
export const dname = (owner: string, target: string) => rr(nameOctets(owner), 39, nameOctets(target));
