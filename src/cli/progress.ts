import { numberText } from './output.js';

export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface ProgressState {
  /** How many things are done, which the rate is of. */
  readonly items: number;
  /** What they are, in the plural. */
  readonly noun: string;
  /** How much of all is done, from 0 to 1; absent: it is not known. */
  readonly share?: number | undefined;
}

const TERMINAL_MILLISECONDS = 500;
const PLAIN_MILLISECONDS = 10_000;

/**
 * Shows how much is done, and at which rate, on a terminal in a line that is written anew, elsewhere in a line
 * every ten seconds.
 *
 * @returns a function that ends the show.
 */
export function showProgress(stream: ProgressStream, state: () => ProgressState): () => void {
  const terminal = stream.isTTY === true;
  let [items, since] = [0, performance.now()];
  const show = () => {
    const current = state();
    const now = performance.now();
    const rate = Math.round((Math.max(0, current.items - items) * 1000) / Math.max(1, now - since));
    [items, since] = [current.items, now];
    const percent = current.share === undefined ? '' : `${Math.floor(current.share * 100)} %  `;
    const line = `${percent}${numberText(items)} ${current.noun}, ${numberText(rate)}/s`;
    stream.write(terminal ? `\r\x1b[2K${line.slice(0, (stream.columns ?? 80) - 1)}` : `${line}\n`);
  };
  const timer = setInterval(show, terminal ? TERMINAL_MILLISECONDS : PLAIN_MILLISECONDS);
  timer.unref();
  return () => {
    clearInterval(timer);
    if (terminal) stream.write('\r\x1b[2K');
  };
}
