import { afterAll } from 'vitest';

type Opened = { remove(): unknown } | { close(): unknown } | { stop(): unknown };

/** What is kept by the function that it gives is closed after the tests of the file or describe(), the latest first. */
export function keepUntilEnd() {
  const kept: Opened[] = [];
  afterAll(async () => {
    for (const each of kept.reverse()) {
      if ('remove' in each) await each.remove();
      else await ('close' in each ? each.close() : each.stop());
    }
  });
  return <Item extends Opened>(opened: Item): Item => {
    kept.push(opened);
    return opened;
  };
}
