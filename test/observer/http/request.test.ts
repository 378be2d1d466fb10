import { describe, expect, test } from 'vitest';
import { isDeclined, tryAddresses } from '../../../src/observer/http/client.js';
import { outcomeOfError, type Step } from '../../../src/observer/http/request.js';
import { failed, type HttpAnswer, type Obstacle } from '../../../src/observer/verdict.js';

type Name = Obstacle | 'answered' | 'failed';

function answer(kind: Name): HttpAnswer {
  if (kind === 'answered')
    return { kind, scheme: 'https', address: '192.0.2.7', status: 200, headers: new Map() };
  const failure = failed('malformed', kind);
  return kind === 'failed' ? failure : { ...failure, obstacle: kind };
}

/** What addresses with these outcomes come to, and how many of them were tried. */
async function trial(outcomes: readonly Name[]): Promise<[word: string, tried: number]> {
  let tried = 0;
  const result = await tryAddresses(
    outcomes.map((_outcome, at) => String(at)),
    async (address) => {
      tried += 1;
      return answer(outcomes[Number(address)] ?? 'failed');
    },
  );
  if (isDeclined(result)) return ['declined', tried];
  return [result.kind === 'failed' ? result.failure.message : result.kind, tried];
}

test.each<[readonly Name[], string, number]>([
  [['answered', 'answered'], 'answered', 1],
  [['refused', 'answered'], 'answered', 2],
  [['closed', 'answered'], 'answered', 2],
  [['closed', 'closed', 'refused', 'answered'], 'answered', 4],
  [['no-route', 'slow', 'answered'], 'answered', 3],
  [['failed', 'answered'], 'failed', 1],
  [['other-protocol', 'answered'], 'other-protocol', 1],
  [['refused', 'failed', 'answered'], 'failed', 2],
  [['slow', 'no-route'], 'slow', 2],
  [['closed', 'no-route'], 'closed', 2],
  [['closed', 'slow'], 'slow', 2],
  // Every address that can be reached rejects, or speaks no TLS: all is left to HTTP.
  [['refused'], 'declined', 1],
  [['no-tls'], 'declined', 1],
  [['no-route', 'refused'], 'declined', 2],
  [['refused', 'no-tls', 'no-route'], 'declined', 3],
  // One may yet answer: nothing is left to HTTP.
  [['refused', 'slow'], 'slow', 2],
  [['closed', 'refused'], 'closed', 2],
])('the addresses of a site, tried in turn: %j come to %s after %i', async (outcomes, word, tried) => {
  expect(await trial(outcomes)).toEqual([word, tried]);
});

describe('what an error of a connection says of a site', () => {
  const NO_TLS = ['no-tls', 'tls', 'does not speak TLS (as OpenSSL says)'];
  const FOREIGN_TLS = [undefined, 'tls', 'does not agree on TLS (as OpenSSL says)'];
  const DECLINED = ['no-tls', 'tls', 'declines TLS for the name (as OpenSSL says)'];
  type Row = [Step, string, readonly (string | undefined)[]];
  const all = (step: Step, outcome: Row[2], ...codes: readonly string[]): Row[] =>
    codes.map((code) => [step, code, outcome]);
  const closed = (step: Step, ...codes: readonly string[]) =>
    codes.flatMap((code) => all(step, ['closed', 'closed', `closed the connection (${code})`], code));
  const ALERTS = [
    ...['ERR_SSL_TLSV1_UNRECOGNIZED_NAME', 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR'],
    // In the words of OpenSSL 3.0 and 3.5.
    ...['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'],
  ];

  test.each<Row>([
    ['connect', 'ECONNREFUSED', ['refused', 'refused', 'rejects the connection (ECONNREFUSED)']],
    ['connect', 'ENETUNREACH', ['no-route', 'unreachable', 'cannot be reached (ENETUNREACH)']],
    ['connect', 'EADDRNOTAVAIL', ['no-route', 'unreachable', 'cannot be reached (EADDRNOTAVAIL)']],
    ['connect', 'EHOSTUNREACH', ['slow', 'unreachable', 'cannot be reached (EHOSTUNREACH)']],
    ['connect', 'EMFILE', ['slow', 'unreachable', 'cannot be reached (EMFILE)']],
    ['connect', 'ETIMEDOUT', ['slow', 'timeout', 'does not respond (ETIMEDOUT)']],
    ...closed('connect', 'ECONNRESET'),
    ...all('handshake', NO_TLS, 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_HTTP_REQUEST'),
    ...all('handshake', NO_TLS, 'ERR_SSL_HTTPS_PROXY_REQUEST', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'),
    ...all('handshake', NO_TLS, 'ERR_SSL_DATA_LENGTH_TOO_LONG'),
    // Before the ServerHello there is no TLS for the name; after it, TLS that we do not agree on.
    ...all('hello', DECLINED, ...ALERTS),
    ...all('handshake', FOREIGN_TLS, ...ALERTS, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'),
    ...all('handshake', FOREIGN_TLS, 'ERR_SSL_UNSUPPORTED_PROTOCOL', 'ERR_TLS_CERT', 'EPROTO'),
    ...closed('handshake', 'ECONNRESET', 'EPIPE', 'ERR_CONNECTION_CLOSED'),
    ...all('head', FOREIGN_TLS, 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
    ...closed('head', 'ECONNRESET'),
  ])('at the step %s, %s: %j', (step, code, [obstacle, failureCode, message = '']) => {
    const reason = message.includes('OpenSSL') ? { reason: 'as OpenSSL says' } : {};
    const error = Object.assign(new Error('in the words of Node.js'), { code, ...reason });
    const outcome = outcomeOfError(error, step, '192.0.2.7:443');
    expect(outcome.failure).toEqual({ code: failureCode, message: `192.0.2.7:443 ${message}` });
    expect(outcome.obstacle).toBe(obstacle);
  });
});
