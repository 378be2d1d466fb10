/** The kinds of changes of DNS records, and of HTTP headers, in the order that changes of one time have. */
export const RECORD_CHANGES = ['DNS_RECORD_ADDED', 'DNS_RECORD_REMOVED'] as const;
export const HEADER_CHANGES = ['HEADER_CREATED', 'HEADER_UPDATED', 'HEADER_GONE', 'HEADER_RETURNED'] as const;
export const DOMAIN_CHANGE_KINDS = [...RECORD_CHANGES, ...HEADER_CHANGES] as const;
/** With the one of the feed alone: what it told of a domain before has moved. */
export const CHANGE_KINDS = [...DOMAIN_CHANGE_KINDS, 'HISTORY_EXTENDED'] as const;

export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Why a change is not notable. */
export const ROUTINE_REASONS = [
  ...(['INITIAL', 'BACKFILL', 'SERIAL_ONLY', 'ADDRESS_HINT', 'VALIDATOR'] as const),
  ...(['NONCE_ONLY', 'ROTATING', 'ERROR_PAGE'] as const),
] as const;

export type RoutineReason = (typeof ROUTINE_REASONS)[number];
