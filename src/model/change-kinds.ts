/** The kinds of changes of DNS records, and of HTTP headers, in the order that changes of one time have. */
export const RECORD_CHANGES = ['DNS_RECORD_ADDED', 'DNS_RECORD_REMOVED'] as const;
export const HEADER_CHANGES = ['HEADER_CREATED', 'HEADER_UPDATED', 'HEADER_GONE', 'HEADER_RETURNED'] as const;
export const CHANGE_KINDS = [...RECORD_CHANGES, ...HEADER_CHANGES] as const;

export type ChangeKind = (typeof CHANGE_KINDS)[number];
