import { titleOf } from './feeds.js';
import type { Message } from './messages.js';

/** A message for people: what it is, and a line for each change, as feeds have it. */
export function textOf({ notification, told }: Message): { title: string; lines: readonly string[] } {
  switch (told.type) {
    case 'changes': {
      const count = told.changes.length;
      const title = `${notification}: ${count} ${count === 1 ? 'change' : 'changes'}`;
      return { title, lines: told.changes.map((change) => titleOf(change.domain, change)) };
    }
    case 'gap': {
      const { after, until } = told;
      return { title: `${notification}: changes between ${after} and ${until} are lost to it`, lines: [] };
    }
    case 'watch': {
      const lines = told.domains.map(({ domain, state, failures }) =>
        state === 'recovered'
          ? `${domain}: observed again`
          : `${domain}: not observed, ${failures} times in a row`,
      );
      return { title: `${notification}: watched domains`, lines };
    }
    case 'test':
      return { title: `${notification}: a test`, lines: [] };
  }
}

/** The first lines that fit, and how many there are beyond them. @param most In characters. */
export function firstOf(lines: readonly string[], most: number): readonly string[] {
  let length = 0;
  const end = lines.findIndex((line) => {
    length += line.length + 1;
    return length > most;
  });
  return end === -1 ? lines : [...lines.slice(0, end), `and ${lines.length - end} more`];
}
