/** What is asked of the service: ratios of requests per second, within one run on one machine. */

import { median } from '../report.js';

/** @typedef {import('./contestants.js').Contestant} Contestant */
/** @typedef {Map<string, number[]>} Rates requests per second of each round, by the contestant's id */

/**
 * @typedef {object} Asked
 * @property {string} title
 * @property {string} ours
 * @property {string[]} others the fastest of them is the measure
 * @property {number} target the least ratio
 */

/** @type {Asked[]} */
const ASKED = [
  { title: 'REST ÷ hand-written SQL', ours: 'rest', others: ['sql'], target: 0.8 },
  { title: 'REST ÷ Apollo Server with Prisma', ours: 'rest', others: ['apollo'], target: 4 },
  {
    title: 'GraphQL POST ÷ the faster of Mercurius and PostGraphile',
    ours: 'graphql',
    others: ['mercurius', 'postgraphile'],
    target: 1.1,
  },
  {
    title: 'REST with popularity by Zipf ÷ Express, constant body',
    ours: 'rest-zipf',
    others: ['express'],
    target: 0.7,
  },
  {
    title: 'REST, not modified (304) ÷ Express, constant body',
    ours: 'rest-304',
    others: ['express'],
    target: 0.8,
  },
];

/**
 * @param {Rates} rates
 * @returns what was asked and can be said of this run: which contestant was the measure, and the ratio
 */
export function compareWithAsked(rates) {
  return ASKED.flatMap(({ title, ours, others, target }) => {
    const [other] = others
      .filter((id) => rates.has(id))
      .sort((one, another) => median(rates.get(another) ?? []) - median(rates.get(one) ?? []));
    if (other === undefined) return [];
    const ratio = medianRatio(rates, ours, other);
    return [{ title, ours, other, ratio, target, reached: ratio >= target }];
  });
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
