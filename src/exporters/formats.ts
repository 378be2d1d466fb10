import { COF } from './cof.js';
import { CSV } from './csv.js';
import { DMS } from './dms.js';
import { ZONE } from './zone.js';

/** By their names on the command line. */
export const EXPORT_FORMATS = { dms: DMS, cof: COF, csv: CSV, zone: ZONE } as const;

export type ExportFormatName = keyof typeof EXPORT_FORMATS;
