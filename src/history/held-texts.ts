import { type DnsRecord, isJoined } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';

/**
 * Records of type TXT as they are held. Some tools join the strings of which a text consists: such a record is
 * the same as one with the same text, and what is held stays as it is, divided or not. Two that are divided
 * differently are two.
 *
 * So a stay has the form in which it was first seen, whatever is put before or after it. Of a text that is
 * divided in two ways, with a joined one between, that one cannot tell of which it is: the order of recording
 * decides.
 *
 * @param records Of any types; of one text, those that are divided tell what one that is not does.
 * @param held What is present.
 * @returns `records` itself where nothing is another.
 */
export function asHeld(records: readonly DnsRecord[], held: readonly DnsRecord[]): readonly DnsRecord[] {
  if (!records.some(isJoined) && !held.some(isJoined)) return records;
  const [given, present] = [byText(records), byText(held)];
  return records.flatMap((record) => {
    const key = textKey(record);
    if (key === null) return record;
    const same = present.get(key) ?? [];
    if (!isJoined(record)) return same.find(isJoined) ?? record;
    if (given.get(key)?.some((other) => !isJoined(other))) return [];
    return same.length === 0 ? record : same;
  });
}

function byText(records: readonly DnsRecord[]): Map<string, DnsRecord[]> {
  const texts = new Map<string, DnsRecord[]>();
  for (const record of records) {
    const key = textKey(record);
    if (key !== null) addTo(texts, key, record);
  }
  return texts;
}

/** The text, where a quote is escaped, ends before this. */
const ENTRIES = '","entries":[';

/**
 * What two records have in common that have the same text, however it is divided; null: it is not of type TXT.
 */
function textKey({ host, class: recordClass, type, rdata }: DnsRecord): string | null {
  if (type !== 'TXT') return null;
  return `${host}\n${recordClass}\n${rdata.slice(0, rdata.indexOf(ENTRIES))}`;
}
