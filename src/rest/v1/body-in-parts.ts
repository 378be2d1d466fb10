/** A member of a body: what its value begins with, the texts of its entries, what it ends with. */
interface Member {
  readonly opening: string;
  readonly entries: Buffer[];
  readonly closing: string;
}

/**
 * The JSON text of a large body, of parts that each have some entries of its lists. It is kept as octets, which take
 * a fraction of what the objects do.
 */
export class BodyInParts {
  readonly #members = new Map<string, Member>();

  /** Adds the entries of a part's lists; what else the body has is that of the first part. */
  add(part: object): void {
    for (const [name, value] of Object.entries(part)) {
      const isList = Array.isArray(value);
      const known = this.#members.get(name);
      const member = known ?? memberOf(isList ? undefined : value);
      if (known === undefined) this.#members.set(name, member);
      if (isList && value.length > 0) member.entries.push(Buffer.from(JSON.stringify(value).slice(1, -1)));
    }
  }

  /** The text, as JSON.stringify would write the whole body. */
  octets(): readonly Buffer[] {
    const octets: Buffer[] = [];
    for (const [name, { opening, entries, closing }] of this.#members) {
      octets.push(Buffer.from(`${octets.length === 0 ? '{' : ','}${JSON.stringify(name)}:${opening}`));
      entries.forEach((entry, at) => {
        if (at > 0) octets.push(COMMA);
        octets.push(entry);
      });
      octets.push(Buffer.from(closing));
    }
    return [...octets, Buffer.from('}')];
  }
}

const COMMA = Buffer.from(',');

/** A list without entries, or any other value. */
function memberOf(value: unknown): Member {
  if (value === undefined) return { opening: '[', entries: [], closing: ']' };
  return { opening: JSON.stringify(value), entries: [], closing: '' };
}
