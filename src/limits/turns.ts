import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';

const oneAtATime = pLimit(1);

/** Passes of the event loop between two turns. It accepts one connection in a pass: others must get in, too. */
const PASSES = 20;

/** Waits for a turn: for what takes ten milliseconds and comes in crowds. Others are served between two. */
export function nextTurn(): Promise<void> {
  return oneAtATime(async () => {
    for (let pass = 0; pass < PASSES; pass += 1) await setImmediate();
  });
}
