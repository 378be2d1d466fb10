/** What looks find of a domain, as lines of format `dms`: pools, serials, nonces and error pages, as the internet has them. */

const HOUR = 3_600_000;
const BEGIN = Date.UTC(2024, 0, 1);
/** Between two looks. */
const INTERVALS = [HOUR, 6 * HOUR, 24 * HOUR];

/** The lines of a domain in the order of time, each of another instant. */
export function rotatingLines(domain: string, random: () => number): readonly string[] {
  const site = new RotatingSite(domain, random);
  const interval = INTERVALS[Math.floor(random() * INTERVALS.length)] ?? HOUR;
  let time = BEGIN;
  return Array.from({ length: 6 + Math.floor(random() * 30) }, () => {
    time += random() < 0.1 ? 30 * interval : interval;
    return JSON.stringify({ domain, observedAt: new Date(time).toISOString(), ...site.look() });
  });
}

class RotatingSite {
  readonly #random: () => number;
  readonly #common: object;
  /** How many addresses there are, and how many of them an answer has. */
  readonly #pool: number;
  readonly #shown: number;
  #serial = 1;
  #mail = 1;
  #owner = 'a';
  #isDown = false;

  constructor(host: string, random: () => number) {
    this.#random = random;
    this.#common = { host, class: 'IN' };
    this.#pool = 1 + this.#below(8);
    this.#shown = 1 + this.#below(this.#pool);
  }

  look(): object {
    if (this.#chance(0.3)) this.#serial += 1;
    if (this.#chance(0.05)) this.#mail += 1;
    if (this.#chance(0.03)) this.#owner += 'b';
    this.#isDown = this.#chance(this.#isDown ? 0.5 : 0.1);
    const dnsRecords = this.#records().map((data) => ({ ...this.#common, ...data }));
    return this.#chance(0.1) ? { dnsRecords } : { dnsRecords, ...this.#response() };
  }

  #records(): readonly object[] {
    const addresses = [...new Set(Array.from({ length: this.#shown }, () => this.#address()))];
    const port = this.#chance(0.05) ? ' port=8443' : '';
    const zeros = { refresh: 0, retry: 0, expire: 0, 'minimum-ttl': 0 };
    return [
      ...addresses.map((ip) => ({ type: 'A', ip })),
      { type: 'MX', pri: 10, target: `mail${this.#mail}.example` },
      { type: 'TXT', txt: `owner=${this.#owner}` },
      { type: 'SOA', mname: 'ns.example', rname: 'a.example', serial: this.#serial, ...zeros },
      { type: 'HTTPS', data: `1 . alpn="h2"${port} ipv4hint=${addresses.join()}` },
    ];
  }

  #address(): string {
    return this.#chance(0.02) ? `203.0.113.${this.#below(9)}` : `192.0.2.${this.#below(this.#pool)}`;
  }

  #response(): object {
    const httpHeaders = {
      server: this.#isDown ? 'maintenance' : `backend ${this.#below(2)}`,
      ...(!this.#isDown && { etag: `"${this.#below(3)}"`, 'x-owner': this.#owner }),
      'content-security-policy': `script-src 'nonce-${this.#below(1_000)}' ${this.#owner}`,
    };
    return { httpHeaders, site: { scheme: 'https', status: this.#isDown ? 503 : 200 } };
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }
}
