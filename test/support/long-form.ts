/** Whether this is `npm run test:journeys`: `npm test` has a short form of what takes minutes. */
export const IS_LONG = process.env['JOURNEYS'] === 'long';

/** How often a test does something, or with how much: in its long form, and in its short one. */
export function repeats(long: number, short: number): number {
  return IS_LONG ? long : short;
}

/** Tells whoever runs a test that takes long, or is random, how it goes. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
