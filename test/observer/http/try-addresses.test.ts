import { describe, expect, test } from 'vitest';
import type { FailureCode } from '../../../src/observer/failure.js';
import { tryAddresses } from '../../../src/observer/http/try-addresses.js';
import type { VisitOutcome } from '../../../src/observer/http/visit-outcome.js';

type Name = VisitOutcome['kind'];

const CODES: Readonly<Record<Exclude<Name, 'answered'>, FailureCode>> = {
  refused: 'refused',
  'no-way': 'unreachable',
  slow: 'timeout',
  'no-tls': 'tls',
  failed: 'closed',
};

function outcome(kind: Name): VisitOutcome {
  if (kind === 'answered') return { kind, status: 200, headers: new Map() };
  return { kind, failure: { code: CODES[kind], message: kind } };
}

/** What the addresses 0, 1, … come to with these outcomes, in one word, and which were visited. */
async function trial(
  ...outcomes: readonly Name[]
): Promise<{ word: string; visited: number; left: unknown }> {
  let visited = 0;
  const result = await tryAddresses(
    outcomes.map((_outcome, at) => String(at)),
    async (address) => {
      visited += 1;
      return outcome(outcomes[Number(address)] ?? 'failed');
    },
  );
  const word = result.kind === 'failed' ? result.failure.code : result.kind;
  return { word, visited, left: result.kind === 'declined' ? result.addresses : [] };
}

describe('addresses tried one after the other', () => {
  test.each<[readonly Name[], string, number]>([
    [['answered', 'answered'], 'answered', 1],
    [['refused', 'answered'], 'answered', 2],
    [['no-way', 'slow', 'answered'], 'answered', 3],
    [['failed', 'answered'], 'closed', 1],
    [['refused', 'failed', 'answered'], 'closed', 2],
    [['no-way', 'no-way'], 'unreachable', 2],
    [['slow', 'no-way'], 'timeout', 2],
  ])('%j come to %s after %i', async (outcomes, word, visited) => {
    expect(await trial(...outcomes)).toEqual({ word, visited, left: [] });
  });

  test.each<[readonly Name[], readonly string[]]>([
    [['refused'], ['0']],
    [
      ['refused', 'refused'],
      ['0', '1'],
    ],
    [
      ['no-way', 'refused'],
      ['0', '1'],
    ],
    [
      ['no-tls', 'answered'],
      ['0', '1'],
    ],
    [
      ['refused', 'no-tls', 'answered'],
      ['1', '2'],
    ],
  ])('%j leave %j to the other scheme: no way that there is speaks TLS', async (outcomes, left) => {
    expect(await trial(...outcomes)).toMatchObject({ word: 'declined', left });
  });

  test.each<[readonly Name[]]>([[['slow', 'refused']], [['refused', 'slow']], [['slow', 'no-tls']]])(
    '%j leave nothing to the other scheme: one may yet answer',
    async (outcomes) => {
      expect(await trial(...outcomes)).toMatchObject({ word: 'timeout' });
    },
  );
});
