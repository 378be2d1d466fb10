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

/** What is to be observed: so many domains, each so many times. */
export interface ChangingDomains {
  readonly domains: number;
  readonly rounds: number;
  readonly random: () => number;
}

const ADDRESSES = 8;
const HEADERS = ['server', 'via', 'x-powered-by', 'content-type'];

/** Lines of format `dms`, in the order of time, of domains whose records and headers come and go. */
export function* changingDomains({ domains, rounds, random }: ChangingDomains): Generator<string> {
  for (let round = 0; round < rounds; round += 1) {
    for (let number = 0; number < domains; number += 1) {
      const domain = `d${number}.example`;
      const observedAt = new Date(Date.UTC(2024, 0, 1, 0, round, number % 60, round % 1000)).toISOString();
      yield JSON.stringify({ domain, observedAt, ...observedParts(domain, random) });
    }
  }
}

function observedParts(host: string, random: () => number): object {
  const dnsRecords = someOf(ADDRESSES, random).map((n) => ({
    host,
    class: 'IN',
    type: 'A',
    ip: `192.0.2.${n}`,
  }));
  const httpHeaders = Object.fromEntries(
    someOf(HEADERS.length, random).map((n) => [HEADERS[n], `value ${Math.floor(random() * 3)}`]),
  );
  const kind = random();
  if (kind < 0.2) return { httpHeaders };
  if (kind < 0.4) return { dnsRecords, dnsTypes: ['A'] };
  return { dnsRecords, httpHeaders };
}

/** Nearly always the first half of the numbers below `count`; sometimes each of them or not. */
function someOf(count: number, random: () => number): number[] {
  const steady = random() < 0.7;
  const numbers = Array.from({ length: count }, (_, n) => n);
  return numbers.filter((n) => (steady ? n < count / 2 : random() < 0.5));
}
