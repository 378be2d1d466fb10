/** Where progress is shown: standard error, a terminal or not. */
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
 * Shows the progress of a long task: a bar with rate and remaining time on a terminal, and a plain line every
 * ten seconds elsewhere.
 *
 * @param noun what the items are, in the plural.
 * @param state called each time that something is shown.
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

/** One line of progress. @param seconds since the work began. */
export function progressLine(noun: string, state: ProgressState, seconds: number): string {
  const { done = 0, total = null, items, doing } = state;
  const rate = Math.round(items / Math.max(seconds, 0.001));
  const counted = `${items.toLocaleString('en')} ${noun}${doing === undefined ? '' : ` ${doing}`}, ${rate.toLocaleString('en')}/s`;
  if (total === null || total === 0) return counted;
  const share = Math.min(done / total, 1);
  const filled = Math.round(share * BAR_WIDTH);
  const bar = `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}]`;
  const remaining = share === 0 ? '' : `, ${duration((seconds / share) * (1 - share))} left`;
  return `${bar} ${Math.floor(share * 100)} %  ${counted}${remaining}`;
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const digits = (count: number) => String(count).padStart(2, '0');
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const start = hours > 0 ? `${hours}:${digits(minutes)}` : String(minutes);
  return `${start}:${digits(whole % 60)}`;
}
