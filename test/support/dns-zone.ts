import { FLAGS, type ResponseParts } from './dns-message.js';
import { nameKey, parentKey } from './dns-octets.js';
import { parseZoneFile, type ZoneNode, type ZoneNodes, type ZoneRecord } from './dns-zone-file.js';

const NS = 2;
const CNAME = 5;
const SOA = 6;
const DS = 43;
const NXDOMAIN = 3;
const REFUSED = 5;

/** One or more zones, and what a server that has them answers (RFC 1034, section 4.3.2; no wildcards). */
export class Zone {
  readonly #nodes: ZoneNodes;
  /** The names that exist, those without records of their own too (RFC 8020). */
  readonly #existing = new Set<string>();

  /** @param text A master file (dns-zone-file.ts). */
  constructor(text: string) {
    this.#nodes = parseZoneFile(text);
    for (const name of this.#nodes.keys()) {
      for (let key = name; !this.#existing.has(key); key = parentKey(key)) this.#existing.add(key);
    }
  }

  /** The parts of the answer: CNAMEs are followed as far as the zones reach. */
  answer(name: Buffer, type: number): ResponseParts {
    const answers: ZoneRecord[] = [];
    const seen = new Set<string>();
    for (let key = nameKey(name); !seen.has(key); ) {
      seen.add(key);
      const apex = this.#apexOf(key);
      if (apex === undefined) {
        return answers.length === 0 ? only({ rcode: REFUSED, flags: 0 }) : only({ answers });
      }
      const delegation = this.#delegationOf(key, apex, type);
      if (delegation !== undefined) return referral(answers, delegation);
      const node = this.#nodes.get(key);
      const records = node?.get(type) ?? [];
      if (records.length > 0) return only({ answers: [...answers, ...records] });
      const [alias] = node?.get(CNAME) ?? [];
      if (alias === undefined) return this.#negative(key, apex, answers);
      answers.push(alias);
      key = nameKey(alias.rdata);
    }
    return only({ answers });
  }

  #negative(key: string, apex: ZoneNode, answers: readonly ZoneRecord[]): ResponseParts {
    const rcode = this.#existing.has(key) ? 0 : NXDOMAIN;
    return only({ rcode, answers, authorities: apex.get(SOA) ?? [] });
  }

  #apexOf(name: string): ZoneNode | undefined {
    for (let key = name; ; key = parentKey(key)) {
      const node = this.#nodes.get(key);
      if (node?.has(SOA) === true) return node;
      if (key === parentKey(key)) return undefined;
    }
  }

  /** The NS records of the highest name between the zone's apex and the name that is another's zone. */
  #delegationOf(name: string, apex: ZoneNode, type: number): readonly ZoneRecord[] | undefined {
    let found: readonly ZoneRecord[] | undefined;
    for (let key = name; this.#nodes.get(key) !== apex; key = parentKey(key)) {
      // The parent answers for DS at the cut itself (RFC 4035, section 3.1.4.1).
      if (key === name && type === DS) continue;
      found = this.#nodes.get(key)?.get(NS) ?? found;
    }
    return found;
  }
}

function only(parts: Partial<ResponseParts>): ResponseParts {
  return { rcode: 0, flags: FLAGS.AA, ...parts };
}

/** AA is about the first owner name of the answer (RFC 1035, section 4.1.1): that of a CNAME is ours. */
function referral(answers: readonly ZoneRecord[], authorities: readonly ZoneRecord[]): ResponseParts {
  return only({ flags: answers.length === 0 ? 0 : FLAGS.AA, answers, authorities });
}
