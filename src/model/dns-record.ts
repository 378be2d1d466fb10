/** A DNS record in canonical form: two records are the same if and only if these four are equal. */
export interface DnsRecord {
  /** Owner name. */
  readonly host: string;
  readonly class: string;
  readonly type: string;
  /** The type's own fields as JSON text, in the order of the specification, without spaces. */
  readonly rdata: string;
}
