/** Lines of each domain; every fifth shows something else than the one before. */
const ROUNDS = 20;

/** A day, in milliseconds. */
const DAY = 86_400_000;

/**
 * Lines of a tool, as many as are wanted, of a twentieth as many domains: round by round, as tools write them. Those of passive
 * DNS come domain by domain, as feeds give them.
 *
 * @param {keyof typeof FORMATS} format
 * @param {number} count
 * @returns {Generator<string>} with their line feeds
 */
export function* linesOf(format, count) {
  const domains = Math.ceil(count / ROUNDS);
  for (let line = 0; line < count; line += 1) {
    const isByDomain = format === 'cof';
    const [domain, round] = isByDomain
      ? [Math.floor(line / ROUNDS), line % ROUNDS]
      : [line % domains, Math.floor(line / domains)];
    const time = Date.UTC(2023, 0, 1) + round * DAY + domain;
    const ip = `192.0.2.${1 + Math.floor(round / 5)}`;
    yield `${JSON.stringify(FORMATS[format](`d${domain}.example`, time, ip, round))}\n`;
  }
}

/** @type {Record<'dms' | 'httpx' | 'dnsx' | 'zdns' | 'massdns' | 'cof', (name: string, time: number, ip: string, round: number) => object>} */
export const FORMATS = {
  dms: (domain, time, ip) => ({
    ...{ domain, observedAt: new Date(time).toISOString() },
    dnsRecords: [{ host: domain, class: 'IN', type: 'A', ip }],
    dnsTypes: ['A'],
  }),
  httpx: (name, time, ip) => ({
    ...{ timestamp: new Date(time).toISOString(), url: `https://${name}`, input: name, failed: false },
    raw_header: `HTTP/1.1 200 OK\r\nServer: nginx\r\nX-Served-By: ${ip}\r\n\r\n`,
  }),
  dnsx: (host, time, ip) => ({
    ...{ host, resolver: ['192.0.2.53:53'], status_code: 'NOERROR', timestamp: new Date(time).toISOString() },
    all: [`${host}.\t300\tIN\tA\t${ip}`],
  }),
  zdns: (name, time, answer) => ({
    name,
    results: {
      A: {
        data: { answers: [{ answer, class: 'IN', name, ttl: 300, type: 'A' }] },
        ...{ status: 'NOERROR', timestamp: new Date(time).toISOString() },
      },
    },
  }),
  massdns: (name, time, data) => ({
    ...{ name: `${name}.`, type: 'A', class: 'IN', status: 'NOERROR', rx_ts: time * 1e6 },
    data: { answers: [{ ttl: 300, type: 'A', class: 'IN', name: `${name}.`, data }] },
    resolver: '192.0.2.53:53',
  }),
  cof: (name, time, _ip, round) => ({
    ...{ rrname: `${name}.`, rrtype: 'A', rdata: [`192.0.2.${round}`], count: 7 },
    ...{ time_first: Math.floor(time / 1000), time_last: Math.floor(time / 1000) + 1_000_000 },
  }),
};
