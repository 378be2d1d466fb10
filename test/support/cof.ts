/**
 * Validates a line by the text of draft-dulaunoy-dnsop-passive-dns-cof: its grammar and the fields that it defines.
 *
 * @throws Error that says which rule is broken.
 */
export function parseCofLine(line: string): Readonly<Record<string, unknown>> {
  const require = (holds: boolean, rule: string) => {
    if (!holds) throw new Error(`${rule}: ${line}`);
  };
  // "Each JSON object is expressed on a single line"; the grammar's white space has no CR and LF.
  require(/^\{[^\r\n]*\}\n$/.test(line), 'an entry is an object on a line');
  const entry: Record<string, unknown> = JSON.parse(line);
  const isTime = (key: string) => Number.isInteger(entry[key]);
  for (const key of ['rrname', 'rrtype', 'rdata', 'time_first', 'time_last']) {
    require(key in entry, `${key} is mandatory`);
  }
  const { rrname, rrtype, rdata, sensor_id: sensor } = entry;
  require(typeof rrname === 'string' && rrname !== '', 'rrname is a string');
  const isType = typeof rrtype === 'string' ? /^[A-Z][A-Z0-9-]*$/.test(rrtype) : Number.isInteger(rrtype);
  require(isType && !String(rrtype).startsWith('TYPE'), 'rrtype is a mnemonic, or else the decimal value');
  const isData = (value: unknown) => typeof value === 'string' && value !== '';
  require(Array.isArray(rdata)
    ? rdata.length > 0 && rdata.every(isData)
    : isData(rdata), 'rdata is a string or strings');
  for (const key of ['time_first', 'time_last', 'time_first_ms', 'time_last_ms']) {
    require(isTime(key) || (key.endsWith('_ms') && !(key in entry)), `${key} is a number of whole units`);
  }
  require(Number(entry['time_first']) <= Number(entry['time_last']), 'the first time is not after the last');
  for (const end of ['time_first', 'time_last']) {
    const milliseconds = entry[`${end}_ms`];
    const isSame = milliseconds === undefined || Math.floor(Number(milliseconds) / 1000) === entry[end];
    require(isSame, `${end}_ms has the same meaning as ${end}`);
  }
  require(sensor === undefined || typeof sensor === 'string', 'sensor_id is a string');
  return entry;
}
