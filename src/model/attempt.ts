/** The result of `read`; undefined where it throws, for whom the reason does not matter. */
export function attempt<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
