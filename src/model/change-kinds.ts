/** The kinds of changes of DNS records, and of HTTP headers, in the order that changes of one time have. */
export const RECORD_CHANGES = ['DNS_RECORD_ADDED', 'DNS_RECORD_REMOVED'] as const;
export const HEADER_CHANGES = ['HEADER_CREATED', 'HEADER_UPDATED', 'HEADER_GONE', 'HEADER_RETURNED'] as const;
/** Only the feed has HISTORY_EXTENDED: what it told of a domain has moved. No count has the site's status. */
export const CHANGE_KINDS = [
  ...RECORD_CHANGES,
  ...HEADER_CHANGES,
  'HISTORY_EXTENDED',
  'SITE_STATUS_CHANGED',
] as const;
export const DOMAIN_CHANGE_KINDS = CHANGE_KINDS.filter((kind) => kind !== 'HISTORY_EXTENDED');

export type ChangeKind = (typeof CHANGE_KINDS)[number];

export type RoutineReason =
  | 'INITIAL'
  | 'BACKFILL'
  | 'SERIAL_ONLY'
  | 'ADDRESS_HINT'
  | 'VALIDATOR'
  | 'NONCE_ONLY'
  | 'ROTATING'
  | 'ERROR_PAGE';
