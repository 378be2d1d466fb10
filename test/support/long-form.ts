/**
 * How often a test repeats itself: `npm test` runs a short form of what takes minutes, `npm run test:journeys`
 * the long one.
 */
export function repeats(long: number, short: number): number {
  return process.env['JOURNEYS'] === 'long' ? long : short;
}
