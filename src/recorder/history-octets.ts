/** What an entry of `dnsRecords` has besides its owner name and rdata: keys, class, type and two times. */
const RECORD = 128;
/** What an item of a header's history has besides its two values: keys, event and time. */
const HEADER_CHANGE = 80;

/**
 * About how many octets each part of a history has in an answer: columns `record_octets` and `header_octets`.
 */
export interface HistoryOctets {
  readonly records: number;
  readonly headers: number;
}

interface RecordTexts {
  readonly host: string;
  readonly rdata: string;
}

interface HeaderTexts {
  readonly name: string;
  readonly value: string | null;
}

/** The octets of DNS records, and of changes of headers. */
export function historyOctets(
  records: readonly RecordTexts[],
  headers: readonly HeaderTexts[],
): HistoryOctets {
  return {
    records: records.reduce((sum, record) => sum + octetsOfRecord(record), 0),
    headers: headers.reduce((sum, change) => sum + octetsOfHeaderChange(change), 0),
  };
}

function octetsOfRecord({ host, rdata }: RecordTexts): number {
  return RECORD + Buffer.byteLength(host) + Buffer.byteLength(rdata);
}

/** A value is the `new` of one item, and the `old` of the next. */
function octetsOfHeaderChange({ name, value }: HeaderTexts): number {
  return HEADER_CHANGE + Buffer.byteLength(name) + 2 * Buffer.byteLength(value ?? '');
}
