import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeChanges } from '../../src/history/diff.js';
import { isActing, recordObservations } from '../../src/history/record-observations.js';
import { holdNothing } from '../../src/history/state.js';
import { HOUR, LOOK_KINDS, type Look, looks, observationOf } from '../support/site-looks.js';

const DAY = 24n * HOUR;

function recorded(story: readonly Look[], grace = DAY) {
  const holdings = holdNothing();
  const progress = recordObservations(null, holdings, story.map(observationOf), { httpsGrace: grace });
  const { headers, responses } = mergeChanges(progress.changes);
  return {
    state: progress.state,
    holdings,
    kinds: progress.outcomes.map(({ kind }) => kind),
    heldBack: progress.outcomes.map(({ heldBack }) => heldBack),
    headers: headers.map(({ value, observedAt }) => `${value}@${observedAt / HOUR}`),
    responses: responses.map(({ scheme, observedAt }) => `${scheme}@${observedAt / HOUR}`),
  };
}

/** The looks, those with a star that are held back. */
function starred(text: string, grace = DAY): string {
  const words = text.replaceAll('*', '').split(' ');
  const { heldBack } = recorded(looks(words.join(' ')), grace);
  return words.map((word, at) => (heldBack[at] === null ? word : `${word}*`)).join(' ');
}

describe('a response over HTTP', () => {
  // Of looks in the order of time, `any looks` has the rule.
  test.each([
    ['counts from the third look on, after a day', 'https@0 http@1* http@24.9* http@25 http@26'],
    ['does not count sooner by one that comes late, or again', 'https@0 http@20* http@10* http@20* http@44*'],
    [
      'is held back if later looks than it declined HTTPS',
      'https@0 neither@1 neither@30 neither@31 http@29*',
    ],
    ['is held back anew by an answer that comes late', 'https@0 http@1* http@3* https@2.5 http@26* http@28'],
    ['is held back no longer by an answer from before', 'https@0 http@2* http@3* https@1 http@26'],
  ])('%s', (_what, story) => {
    expect(starred(story)).toBe(story);
  });

  test('always counts where nothing is held back', () => {
    const story = 'https@0 http@1 https@2 http@3';
    expect(starred(story, 0n)).toBe(story);
  });

  test('that is held back changes no header, and says since when, in how many observations and until when', () => {
    const story = recorded(looks('https@0 http@1 http@2'));
    expect(story.kinds).toEqual(['changed', 'unchanged', 'unchanged']);
    expect(story.headers).toEqual(['https@0']);
    expect(story.heldBack.at(-1)).toEqual({ since: HOUR, checks: 2, until: HOUR + DAY });
    expect(story.state?.http?.latest).toBe(0n);
  });

  test('is evidence where it counts and something changed, as one over HTTPS is', () => {
    const story = recorded(looks('https@0 https@1 http@2 http@3 http@26 http@27 https@28'));
    expect(story.headers).toEqual(['https@0', 'http@26', 'https@28']);
    expect(story.responses).toEqual(['https@0', 'http@26', 'https@28']);
  });
});

/** The rule again, in its own words, over looks in the order of time. */
function shouldBeHeldBack(story: readonly Look[], place: number, grace: bigint): boolean {
  const [look, before] = [story[place], story.slice(0, place)];
  if (look?.kind !== 'http' || grace === 0n) return false;
  const answered = before.findLastIndex(({ kind }) => kind === 'https');
  if (answered === -1) return false;
  const since = story.slice(answered, place + 1);
  const declined = since.filter(({ kind }) => kind === 'http' || kind === 'neither');
  const [first] = declined;
  return first === undefined || declined.length < 3 || look.at - first.at < grace;
}

const stories = fc
  .array(fc.tuple(fc.constantFrom(...LOOK_KINDS), fc.bigInt(1n, 30n)), { minLength: 1, maxLength: 30 })
  .map((steps) => {
    let at = 0n;
    return steps.map(([kind, hours]): Look => {
      at += hours * HOUR;
      return { kind, at };
    });
  });
const graces = fc.constantFrom(0n, HOUR, DAY, 3n * DAY);

describe('any looks', () => {
  test('are held back as the rule says', () => {
    fc.assert(
      fc.property(stories, graces, (story, grace) => {
        const { heldBack, state } = recorded(story, grace);
        const expected = story.map((_look, place) => shouldBeHeldBack(story, place, grace));
        expect(heldBack.map((held) => held !== null)).toEqual(expected);
        const counted = story.filter(({ kind }, place) => !expected[place] && /^http|^imp/.test(kind));
        expect(state?.http?.latest).toBe(counted.at(-1)?.at);
      }),
      { numRuns: 2000 },
    );
  });

  test('change nothing when they are recorded again', () => {
    fc.assert(
      fc.property(stories, graces, fc.infiniteStream(fc.nat()), (story, grace, numbers) => {
        const { state, holdings } = recorded(story, grace);
        const keys = new Map(story.map((look) => [look, numbers.next().value ?? 0]));
        const again = story.toSorted((left, right) => (keys.get(left) ?? 0) - (keys.get(right) ?? 0));
        const observations = again.map(observationOf);
        const { changes, outcomes, ...after } = recordObservations(state, holdings, observations, {
          httpsGrace: grace,
        });
        expect([after.state, changes]).toEqual([state, []]);
        expect(outcomes.filter(isActing)).toEqual([]);
      }),
    );
  });
});
