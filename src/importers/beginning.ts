/**
 * The same data; the first piece is as much of their beginning as is needed to examine it, or all.
 *
 * @param isEnough Called with what has come so far.
 */
export async function* withHead(
  source: AsyncIterable<Buffer>,
  isEnough: (head: Buffer) => boolean,
): AsyncGenerator<Buffer, void> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const chunk of source) {
    if (head === null) yield chunk;
    else {
      head = Buffer.concat([head, chunk]);
      if (!isEnough(head)) continue;
      yield head;
      head = null;
    }
  }
  if (head !== null) yield head;
}

/** The first item, if there is one, and all of them. */
export async function peek<Item>(
  source: AsyncGenerator<Item, void>,
): Promise<readonly [first: Item | undefined, all: AsyncGenerator<Item, void>]> {
  const first = await source.next();
  const all = async function* () {
    try {
      if (first.done !== true) yield first.value;
      yield* source;
    } finally {
      await source.return();
    }
  };
  return [first.value ?? undefined, all()];
}
