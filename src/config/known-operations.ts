import { readFileSync } from 'node:fs';
import { messageOf, type UsageError } from '../model/errors.js';
import { isJsonObject } from '../model/json-values.js';
import { invalidSetting } from './parse.js';

/** Documents by their ids. */
export type KnownOperations = ReadonlyMap<string, string>;

const FORMATS =
  'write a JSON object of ids and documents, such as {"<SHA-256>": "query …"}, or Apollo\'s persisted query manifest';

/**
 * Reads the file of PERSISTED_ONLY: Apollo's persisted query manifest, or an object of ids and documents, as
 * Relay's compiler and GraphQL Code Generator write it.
 *
 * @param file Undefined: there is none.
 * @throws UsageError for a file that cannot be read, or is neither, or contains no operation.
 */
export function readPersistedOnly(file: string | undefined): KnownOperations | undefined {
  if (file === undefined) return undefined;
  const invalid = (advice: string) => invalidSetting('PERSISTED_ONLY', file, advice);
  const entries = entriesOf(contentOf(file, invalid));
  if (entries === undefined || !entries.every(isOperation)) throw invalid(`it is neither format; ${FORMATS}`);
  if (entries.length === 0) throw invalid(`it contains no operation; ${FORMATS}`);
  return new Map(entries);
}

function contentOf(file: string, invalid: (advice: string) => UsageError): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(`it is not JSON; ${FORMATS}`);
    throw invalid(`it cannot be read (${messageOf(error)}); write the path of a file`);
  }
}

/** Ids and documents, not checked yet; undefined for another format, and a manifest of another version. */
function entriesOf(content: unknown): [unknown, unknown][] | undefined {
  if (!isJsonObject(content)) return undefined;
  const { format, version, operations } = content;
  if (format === undefined) return Object.entries(content);
  if (format !== 'apollo-persisted-query-manifest' || version !== 1) return undefined;
  if (!Array.isArray(operations)) return undefined;
  return operations.map((entry: unknown) =>
    isJsonObject(entry) ? [entry['id'], entry['body']] : [entry, entry],
  );
}

function isOperation(entry: readonly [unknown, unknown]): entry is [string, string] {
  return typeof entry[0] === 'string' && entry[0] !== '' && typeof entry[1] === 'string';
}
