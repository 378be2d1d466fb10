import { readFileSync } from 'node:fs';
import type { RdataFieldKind } from '../../model/rdata-codec.js';
import type { Parameter } from './parameters.js';

export type Schema = Readonly<Record<string, unknown>>;

export interface DescribedOperation {
  /** Never changes. The name of the stored operation, too, which selects one field. */
  readonly operationId: string;
  /** Its name, as the specification calls it (section 4). */
  readonly summary: string;
  readonly description: string;
  /** How settled the body is (specification, 9). */
  readonly 'x-maturity': 'Testing' | 'Developing';
  readonly parameters: readonly Parameter[];
  /** Of a page of a list: an example of a line of CSV. */
  readonly 'x-csv-row'?: string;
  /** What its stream of events sends; absent: it has none. */
  readonly 'x-stream'?: string;
}

type Schemas = Readonly<Record<string, Schema>>;

/** What openapi.yaml says: all of OpenAPI's document that does not follow from routes, types and settings. */
interface Described {
  readonly info: Schema & { readonly description: string };
  readonly tags: readonly object[];
  /** What a time may be, as every parameter that is one says. */
  readonly 'x-time-forms': string;
  readonly paths: Readonly<Record<string, { readonly get: DescribedOperation }>>;
  readonly 'x-rdata': {
    readonly common: Schemas;
    readonly kinds: Readonly<Record<RdataFieldKind, Schema>>;
    readonly notes: Partial<Record<RdataFieldKind, string>>;
  };
  /** The forms of a page besides JSON; `{columns}` stands for the names of CSV's columns. */
  readonly 'x-tables': Readonly<
    Record<'text/csv' | 'application/x-ndjson', { readonly description: string }>
  >;
  /** `parameters`: the conditions of requests, and the header field with which a stream is resumed. */
  readonly components: Readonly<Record<'parameters' | 'headers' | 'schemas' | 'securitySchemes', Schemas>> & {
    readonly responses: Readonly<
      Record<string, { readonly description: string; readonly 'x-headers': readonly string[] }>
    >;
  };
}

/** Written by the build from openapi.yaml; the same from src/ and from dist/. */
const FILE = new URL('../../../dist/openapi.json', import.meta.url);

export const DESCRIBED: Described = JSON.parse(readFileSync(FILE, 'utf8'));

export function schemaReference(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}
