/** What an entry of `dnsRecords` has besides its owner name and rdata: keys, class, type and two times. */
const RECORD = 128;
/** What an item of a header's history has besides its two values: keys, event and time. */
const HEADER_CHANGE = 80;

/** About how many octets DNS records have in a response: column `record_octets`. */
export function recordOctets(records: readonly { readonly host: string; readonly rdata: string }[]): number {
  return records.reduce(
    (sum, { host, rdata }) => sum + RECORD + Buffer.byteLength(host) + Buffer.byteLength(rdata),
    0,
  );
}

/**
 * About how many octets changes of headers have in a response: column `header_octets`. A value is the `new` of
 * one item, and the `old` of the next.
 */
export function headerOctets(
  changes: readonly { readonly name: string; readonly value: string | null }[] = [],
): number {
  return changes.reduce(
    (sum, { name, value }) =>
      sum + HEADER_CHANGE + Buffer.byteLength(name) + 2 * Buffer.byteLength(value ?? ''),
    0,
  );
}
