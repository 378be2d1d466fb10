/** In the order in which they are told: formats.ts has a row for each. */
export const IMPORT_FORMATS = ['dms', 'httpx', 'dnsx', 'zdns', 'massdns', 'cof'] as const;

export type ImportFormat = (typeof IMPORT_FORMATS)[number];
