import type { ImportSummary } from '../../importers/import-summary.js';
import type { Line } from '../../importers/lines.js';
import type { Input } from '../../importers/open-input.js';
import type { RejectsFile } from '../../importers/rejects.js';
import { counted } from './import-summary-text.js';

/** How many refused lines are shown with their reasons. */
const REASONS_SHOWN = 10;

/** The file that keeps the lines that are refused. */
export interface KeptRefusals {
  readonly file: RejectsFile;
  /** As the user wrote it. */
  readonly path: string;
}

/** Reports the lines that are refused: the first ones with their reasons. */
export class Refusals {
  readonly #summary: ImportSummary;
  readonly #kept: KeptRefusals | null;
  readonly #write: (text: string) => void;

  /** @param kept null when nobody asked to keep them. */
  constructor(summary: ImportSummary, kept: KeptRefusals | null, write: (text: string) => void) {
    this.#summary = summary;
    this.#kept = kept;
    this.#write = write;
  }

  /** Tells of a line that the summary has counted already. */
  async add(input: Input, line: Line, reason: string): Promise<void> {
    if (this.#summary.linesRefused <= REASONS_SHOWN) {
      this.#write(`${input.name}, line ${line.number} refused: ${reason}\n`);
    }
    await this.#kept?.file.write(line);
  }

  /** Says how many there were, and what can be done about them. */
  close(): void {
    const { linesRefused } = this.#summary;
    if (linesRefused === 0) return;
    if (linesRefused > REASONS_SHOWN) {
      this.#write(`… and ${counted(linesRefused - REASONS_SHOWN, 'more line', 'more lines')} refused.\n`);
    }
    const where =
      this.#kept === null
        ? 'To keep refused lines for mending, import again with --rejects FILE.'
        : `The refused lines are in ${this.#kept.path}: mend them there and import that file.`;
    this.#write(`${where} A mended line is stale if something newer of its domain is recorded by then.\n`);
  }
}
