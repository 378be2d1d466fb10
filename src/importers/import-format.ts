/** What the lines of an input may be, in the order in which it is told: formats.ts has a row for each. */
export const IMPORT_FORMATS = ['dms', 'httpx', 'dnsx', 'zdns', 'massdns', 'cof'] as const;

export type ImportFormat = (typeof IMPORT_FORMATS)[number];
