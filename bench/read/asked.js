/** What is asked of the service: ratios of requests per second, within one run on one machine. */

import { median } from '../report.js';

/** @typedef {Map<string, number[]>} Rates requests per second of each round, by the contestant's id */

/**
 * @typedef {object} Asked
 * @property {string} ours a contestant's id
 * @property {string[]} others the measure is the one that we surpass least
 * @property {number} target the least ratio of our rate to that one's
 */

/** @type {Asked[]} */
const ASKED = [
  { ours: 'rest', others: ['sql'], target: 0.8 },
  { ours: 'rest', others: ['apollo'], target: 4 },
  { ours: 'graphql', others: ['mercurius', 'postgraphile'], target: 1.1 },
  { ours: 'rest-zipf', others: ['express'], target: 0.7 },
  { ours: 'rest-304', others: ['express'], target: 0.8 },
];

/**
 * @param {Rates} rates
 * @returns of what was asked, that of which both sides took part: which contestant was the measure, and the ratio
 */
export function compareWithAsked(rates) {
  return ASKED.flatMap(({ ours, others, target }) =>
    others
      .filter((id) => rates.has(id))
      .map((other) => ({ ours, other, ratio: medianRatio(rates, ours, other), target }))
      .sort((one, another) => one.ratio - another.ratio)
      .slice(0, 1)
      .map((least) => ({ ...least, reached: least.ratio >= target })),
  );
}

/**
 * Each round is compared with its own neighbour in time, so that a slow minute does not favour anybody.
 *
 * @param {Rates} rates
 * @param {string} one
 * @param {string} other
 * @returns {number}
 */
export function medianRatio(rates, one, other) {
  const others = rates.get(other) ?? [];
  return median((rates.get(one) ?? []).map((rate, round) => rate / (others[round] ?? Number.NaN)));
}
