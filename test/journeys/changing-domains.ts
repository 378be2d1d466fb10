import fc from 'fast-check';
import { headerLine, typeLine } from './random-observations.js';

/** Numbers from 0 up to 1, the same ones for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const changing = fc.oneof(
  typeLine('', 'A'),
  headerLine(''),
  fc
    .tuple(typeLine('', 'A'), headerLine(''))
    .map(([dns, http]) => ({ ...dns, ...http, dnsTypes: undefined })),
);

/** Lines of format `dms`, in the order of time: every second round the addresses and headers of each domain are others. */
export function* changingDomains(domains: number, rounds: number, seed: number): Generator<string> {
  for (let round = 0; round < rounds; round += 1) {
    const lines = fc.sample(changing, { numRuns: domains, seed: seed + (round >> 1) });
    for (const [number, line] of lines.entries()) {
      const observedAt = new Date(Date.UTC(2024, 0, 1, 0, round, number % 60, round % 1000));
      yield JSON.stringify({ ...line, domain: `d${number}.example`, observedAt });
    }
  }
}

const HOUR = 3_600_000;
const SOA = { mname: 'ns.example', rname: 'a.example', refresh: 0, retry: 0, expire: 0, 'minimum-ttl': 0 };

/** Lines of a domain in the order of time, each of another instant: pools, serials, nonces and error pages. */
export function rotatingLines(domain: string, random: () => number): readonly string[] {
  const below = (count: number) => Math.floor(random() * count);
  const chance = (share: number) => random() < share;
  const interval = [HOUR, 6 * HOUR, 24 * HOUR][below(3)] ?? HOUR;
  const pool = 1 + below(8);
  const shown = 1 + below(pool);
  let [time, serial, mail, owner, isDown] = [Date.UTC(2024, 0, 1), 1, 1, 'a', false];
  return Array.from({ length: 6 + below(30) }, () => {
    time += chance(0.1) ? 30 * interval : interval;
    if (chance(0.3)) serial += 1;
    if (chance(0.05)) mail += 1;
    if (chance(0.03)) owner += 'b';
    isDown = chance(0.15);
    const address = () => (chance(0.02) ? `203.0.113.${below(9)}` : `192.0.2.${below(pool)}`);
    const addresses = [...new Set(Array.from({ length: shown }, address))];
    const dnsRecords = [
      ...addresses.map((ip) => ({ type: 'A', ip })),
      { type: 'MX', pri: 10, target: `mail${mail}.example` },
      { type: 'TXT', txt: `owner=${owner}` },
      { type: 'HTTPS', data: `1 . port=${8440 + mail} ipv4hint=${addresses.join()}` },
      { type: 'SOA', ...SOA, serial },
    ].map((data) => ({ host: domain, class: 'IN', ...data }));
    const up = { server: `backend ${below(2)}`, etag: `"${below(3)}"`, 'x-owner': owner };
    const policy = { 'content-security-policy': `script-src 'nonce-${below(1_000)}' ${owner}` };
    const httpHeaders = { ...policy, ...(isDown ? { server: 'maintenance' } : up) };
    const site = { scheme: 'https', status: isDown ? 503 : 200 };
    const response = chance(0.1) ? {} : { httpHeaders, site };
    return JSON.stringify({ domain, observedAt: new Date(time).toISOString(), dnsRecords, ...response });
  });
}
