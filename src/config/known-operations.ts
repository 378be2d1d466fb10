import { readFileSync } from 'node:fs';
import { messageOf, UsageError } from '../model/errors.js';
import { isJsonObject } from '../model/json-values.js';

/** Documents by their ids. */
export type KnownOperations = ReadonlyMap<string, string>;

const FORMATS =
  'write a JSON object of ids and documents, such as {"<SHA-256>": "query …"}, or Apollo\'s persisted query manifest';

/**
 * Reads the file of PERSISTED_ONLY: Apollo's persisted query manifest, or an object of ids and documents, as
 * Relay's compiler and GraphQL Code Generator write it.
 *
 * @throws UsageError for a file that cannot be read, or is neither, or contains no operation.
 */
export function readPersistedOnly(file: string | undefined): KnownOperations | undefined {
  if (file === undefined) return undefined;
  try {
    const entries = entriesIn(JSON.parse(readFileSync(file, 'utf8')));
    if (!entries?.every(isOperation)) throw new Error('it is neither format');
    if (entries.length === 0) throw new Error('it contains no operation');
    return new Map(entries);
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'it is not JSON' : messageOf(error);
    throw new UsageError(`PERSISTED_ONLY is ${JSON.stringify(file)}: ${reason}; ${FORMATS}.`);
  }
}

/** Not checked yet; undefined for another format, and a manifest of another version. */
function entriesIn(content: unknown): [unknown, unknown][] | undefined {
  if (!isJsonObject(content)) return undefined;
  const { format, version, operations } = content;
  if (format === undefined) return Object.entries(content);
  const isManifest = format === 'apollo-persisted-query-manifest' && version === 1;
  if (!isManifest || !Array.isArray(operations)) return undefined;
  return operations.map((entry: unknown) =>
    isJsonObject(entry) ? [entry['id'], entry['body']] : [entry, entry],
  );
}

function isOperation(entry: readonly [unknown, unknown]): entry is [string, string] {
  return typeof entry[0] === 'string' && entry[0] !== '' && typeof entry[1] === 'string';
}
