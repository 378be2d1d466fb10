import type { DocumentNode } from 'graphql';
import { SizedCache } from '../model/sized-cache.js';

/** Characters. A document takes 70 times as much memory as its text: 28 MB at most. */
const MOST_CHARACTERS = 400_000;
/** What the smallest document takes besides. */
const CHARACTERS_BESIDES = 100;

/** For Apollo Server: the valid documents that came last, parsed. */
export class ValidDocuments {
  readonly #documents = new SizedCache<string, DocumentNode>(MOST_CHARACTERS);

  async get(key: string): Promise<DocumentNode | undefined> {
    return this.#documents.get(key);
  }

  async set(key: string, document: DocumentNode): Promise<void> {
    this.#documents.set(key, document, (document.loc?.end ?? MOST_CHARACTERS) + CHARACTERS_BESIDES);
  }

  async delete(key: string): Promise<boolean> {
    return this.#documents.delete(key);
  }
}
