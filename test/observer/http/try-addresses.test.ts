import { describe, expect, test } from 'vitest';
import type { FailureCode } from '../../../src/observer/failure.js';
import { isDeclined, tryAddresses } from '../../../src/observer/http/client.js';
import type { Obstacle, RequestOutcome } from '../../../src/observer/http/request.js';

type Name = Obstacle | 'answered' | 'failed';

const CODES: Readonly<Record<Exclude<Name, 'answered'>, FailureCode>> = {
  refused: 'refused',
  'no-route': 'unreachable',
  slow: 'timeout',
  'no-tls': 'tls',
  closed: 'closed',
  'other-protocol': 'tls',
  failed: 'malformed',
};

function outcome(kind: Name): RequestOutcome {
  if (kind === 'answered')
    return { kind, scheme: 'https', address: '192.0.2.7', status: 200, headers: new Map() };
  const failure = { code: CODES[kind], message: kind };
  return kind === 'failed' ? { kind, failure } : { kind: 'failed', failure, obstacle: kind };
}

/** What the addresses 0, 1, … come to with these outcomes, in one word, and how many were visited. */
async function trial(outcomes: readonly Name[]): Promise<[word: string, visited: number]> {
  let visited = 0;
  const result = await tryAddresses(
    outcomes.map((_outcome, at) => String(at)),
    async (address) => {
      visited += 1;
      return outcome(outcomes[Number(address)] ?? 'failed');
    },
  );
  const word = result.kind === 'failed' ? result.failure.code : result.kind;
  return [isDeclined(result) ? 'declined' : word, visited];
}

describe('addresses tried one after the other', () => {
  test.each<[readonly Name[], string, number]>([
    [['answered', 'answered'], 'answered', 1],
    [['refused', 'answered'], 'answered', 2],
    [['no-tls', 'answered'], 'answered', 2],
    [['closed', 'answered'], 'answered', 2],
    [['closed', 'closed', 'refused', 'answered'], 'answered', 4],
    [['no-route', 'slow', 'answered'], 'answered', 3],
    [['failed', 'answered'], 'malformed', 1],
    [['other-protocol', 'answered'], 'tls', 1],
    [['refused', 'failed', 'answered'], 'malformed', 2],
    [['no-route', 'no-route'], 'unreachable', 2],
    [['slow', 'no-route'], 'timeout', 2],
    [['closed', 'no-route'], 'closed', 2],
    [['closed', 'slow'], 'timeout', 2],
  ])('%j come to %s after %i', async (outcomes, word, visited) => {
    expect(await trial(outcomes)).toEqual([word, visited]);
  });

  test.each<[readonly Name[]]>([
    [['refused']],
    [['no-tls']],
    [['refused', 'refused']],
    [['no-route', 'refused']],
    [['refused', 'no-tls', 'no-route']],
  ])('%j leave all to the other scheme: every address rejects, or speaks no TLS', async (outcomes) => {
    expect(await trial(outcomes)).toEqual(['declined', outcomes.length]);
  });

  test.each<[readonly Name[], FailureCode]>([
    [['slow', 'refused'], 'timeout'],
    [['refused', 'slow'], 'timeout'],
    [['slow', 'no-tls'], 'timeout'],
    [['closed', 'refused'], 'closed'],
    [['no-tls', 'closed'], 'closed'],
  ])('%j leave nothing to the other scheme: one may yet answer', async (outcomes, code) => {
    expect(await trial(outcomes)).toEqual([code, outcomes.length]);
  });
});
