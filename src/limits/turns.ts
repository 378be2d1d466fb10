import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';

const oneAtATime = pLimit(1);

/** How often the event loop passes between two turns. It accepts one connection in a pass: a crowd must not keep others out for long. */
const PASSES = 20;

/** Waits for a turn, for what takes some ten milliseconds and comes in crowds: others are served between two of them. */
export function nextTurn(): Promise<void> {
  return oneAtATime(async () => {
    for (let pass = 0; pass < PASSES; pass += 1) await setImmediate();
  });
}
