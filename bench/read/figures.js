/**
 * Keeps the processor time of requests from growing: that of this service relative to Express with a constant body, in
 * the same run, is compared with what is in the repository.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { median } from '../report.js';

/** @typedef {{ serverTime: number }} Round */
/** @typedef {Record<string, number>} Figures by the contestant's id */

/** The requests whose processor time is compared. */
const COMPARED = ['rest', 'rest-304', 'graphql'];
const REFERENCE = 'express';

/** Whoever takes part where figures are compared. */
export const TAKING_PART = [...COMPARED, REFERENCE];

/** How much more a request may take. */
const ALLOWED = 1.2;

/**
 * @param {Map<string, readonly Round[]>} measured by the contestant's id
 * @returns {Figures} processor time of a request, as a multiple of that of Express: the median of the rounds
 */
export function figuresOf(measured) {
  const reference = measured.get(REFERENCE) ?? [];
  return Object.fromEntries(
    COMPARED.map((id) => [
      id,
      median(
        (measured.get(id) ?? []).map(
          ({ serverTime }, round) => serverTime / (reference[round]?.serverTime ?? Number.NaN),
        ),
      ),
    ]),
  );
}

/**
 * @param {Figures} figures
 * @param {string} file with those of the repository
 * @returns {{ id: string, figure: number, kept: number, isWithin: boolean }[]}
 */
export function compareFigures(figures, file) {
  /** @type {Figures} */
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  return COMPARED.map((id) => {
    const figure = figures[id] ?? Number.NaN;
    const before = kept[id] ?? Number.NaN;
    return { id, figure, kept: before, isWithin: figure <= before * ALLOWED };
  });
}

/**
 * @param {Figures} figures
 * @param {string} file
 */
export function writeFigures(figures, file) {
  const rounded = Object.entries(figures).map(([id, figure]) => [id, Number(figure.toFixed(2))]);
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`);
}
