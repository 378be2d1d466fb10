import { numberText } from './output.js';

export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface ProgressState {
  /** How many items are done, which the rate is of. */
  readonly items: number;
  /** Of `total`, in the same unit. */
  readonly done?: number;
  /** Null or absent: it is not known. */
  readonly total?: number | null;
  /** What is done with the items now; absent: there is only one thing. */
  readonly doing?: string;
  /** When that began, by the monotonic clock; absent: with the show. */
  readonly since?: number;
}

const TERMINAL_MILLISECONDS = 200;
const PLAIN_MILLISECONDS = 10_000;
const BAR_WIDTH = 24;

/**
 * Shows a bar with rate and remaining time on a terminal, and a plain line every ten seconds elsewhere.
 *
 * @param noun what the items are, in the plural.
 * @returns a function that ends the show and clears the bar.
 */
export function showProgress(stream: ProgressStream, noun: string, state: () => ProgressState): () => void {
  const began = performance.now();
  const terminal = stream.isTTY === true;
  const show = () => {
    const current = state();
    const line = progressLine(noun, current, (performance.now() - (current.since ?? began)) / 1000);
    stream.write(terminal ? `\r\x1b[2K${line.slice(0, (stream.columns ?? 80) - 1)}` : `${line}\n`);
  };
  const timer = setInterval(show, terminal ? TERMINAL_MILLISECONDS : PLAIN_MILLISECONDS);
  timer.unref();
  return () => {
    clearInterval(timer);
    if (terminal) stream.write('\r\x1b[2K');
  };
}

function progressLine(noun: string, state: ProgressState, seconds: number): string {
  const { done = 0, total = null, items, doing } = state;
  const rate = Math.round(items / Math.max(seconds, 0.001));
  const what = doing === undefined ? noun : `${noun} ${doing}`;
  const counted = `${numberText(items)} ${what}, ${numberText(rate)}/s`;
  if (total === null || total === 0) return counted;
  const share = Math.min(done / total, 1);
  const bar = '#'.repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH, '.');
  const left = share === 0 ? '' : `, ${clockText(Math.ceil((seconds / share) * (1 - share)))} left`;
  return `[${bar}] ${Math.floor(share * 100)} %  ${counted}${left}`;
}

/** Hours, if there are some, minutes and seconds. */
function clockText(seconds: number): string {
  const units = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const digits = units.map((unit) => String(unit).padStart(2, '0')).join(':');
  return digits.replace(/^(?:00:)?0?/, '');
}
