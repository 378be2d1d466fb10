/** The documents that a client may name by an id, or by their SHA-256, instead of sending them. */
export interface PersistedOperations {
  /** The document with an id. */
  find(id: string): string | undefined;
  /** Whether a document that is sent may be executed. */
  allows(source: string): boolean;

  /** For Apollo Server: the document of a key that it has made of an id. */
  get(key: string): Promise<string | undefined>;
  /** Takes the document that Apollo Server has found valid, and right for the key. */
  set(key: string, source: string): Promise<void>;
  delete(key: string): Promise<boolean>;
}

/** What Apollo Server's keys begin with. */
export const KEY_PREFIX = 'apq:';
