import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { memoized } from '../model/memoized.js';

/** Some proxies write the client's port behind its address: `192.0.2.1:1234`, `[2001:db8::1]:1234`. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([^\]]+)\](?::\d+)?)$/;

/**
 * The key of a client, from its address: an IPv4 address, or an IPv6 network of 64 bits, of which a client has
 * all addresses (RFC 6177, section 2). IPv4-mapped addresses are IPv4.
 *
 * @param named The address from a trusted proxy, or the connection's own.
 * @param peer The connection's address, used where `named` is not an address but a text such as `unknown`.
 */
export function clientKey(named: string | undefined, peer: string | undefined): string {
  return keyOf(named) || keyOf(peer);
}

/** Empty for a text that is not an address. */
function keyOf(text = ''): string {
  if (text.includes(':')) return keyOfColons(text);
  return isIP(text) === 0 ? '' : text;
}

const keyOfColons = memoized((text: string): string => {
  const [, ipv4, ipv6] = WITH_PORT.exec(text) ?? [];
  const address = ipv4 ?? ipv6 ?? text;
  if (isIP(address) === 0 || !ipaddr.isValid(address)) return '';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const network = parsed.toByteArray().map((byte, index) => (index < 64 / 8 ? byte : 0));
  return `${ipaddr.fromByteArray(network).toString()}/64`;
});
