import { useEffect, useRef, useState } from 'preact/hooks';
import { listen, type Operation, session } from './api.js';

/** What is done with a stream. */
export interface Reader<Result> {
  /**
   * Reads what was recorded before, from now on: when the stream has begun, so that nothing is missed between the two.
   * Where there is no stream, without it.
   *
   * @param stopped Aborted when reading begins again, or what is read is not shown any more.
   */
  read(stopped: AbortSignal): void;
  /** @returns the cursor to continue with. */
  onResult(result: Result): string | null;
}

/** So long reading waits for a stream, in milliseconds. */
const MAX_WAIT = 1_500;

/**
 * Listens to a subscription, and reads what was recorded before. With other variables or another token, all of it begins again.
 *
 * @returns whether results arrive at the moment.
 */
export function useStream<Result, Variables extends { readonly after?: string | null | undefined }>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  reader: Reader<Result>,
  isPaused = false,
): boolean {
  const [isOpen, setOpen] = useState(false);
  const latest = useRef(reader);
  latest.current = reader;
  useEffect(() => {
    if (isPaused) return undefined;
    const stream = new AbortController();
    let reading: AbortController | undefined;
    const read = () => {
      reading?.abort();
      reading = new AbortController();
      latest.current.read(reading.signal);
    };
    const readAnyway = () => {
      if (reading === undefined) read();
    };
    const timer = setTimeout(readAnyway, MAX_WAIT);
    const listener = {
      onBegin: read,
      onResult: (result: Result) => latest.current.onResult(result),
      onState(isNowOpen: boolean) {
        setOpen(isNowOpen);
        readAnyway();
      },
    };
    void listen(operation, variables, listener, stream.signal);
    return () => {
      clearTimeout(timer);
      stream.abort();
      reading?.abort();
      setOpen(false);
    };
  }, [operation, JSON.stringify(variables), session.value, isPaused]);
  return isOpen;
}
