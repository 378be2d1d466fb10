import { describe, expect, test } from 'vitest';
import { outcomeOfError, type Step } from '../../../src/observer/http/request.js';

/** Obstacle, code and message of what such an error of Node.js means. */
function meaning(step: Step, code: string, reason?: string): unknown {
  const error = Object.assign(
    new Error('in the words of Node.js'),
    { code },
    reason === undefined ? {} : { reason },
  );
  const { obstacle, failure } = outcomeOfError(error, step, '192.0.2.7:443');
  return [obstacle ?? 'failed', failure.code, failure.message];
}

describe('an error while connecting', () => {
  test.each([
    ['ECONNREFUSED', 'refused', 'refused', '192.0.2.7:443 rejects the connection'],
    ['ENETUNREACH', 'no-route', 'unreachable', 'no connection to 192.0.2.7:443 (ENETUNREACH)'],
    ['EHOSTUNREACH', 'slow', 'unreachable', 'no connection to 192.0.2.7:443 (EHOSTUNREACH)'],
    ['EADDRNOTAVAIL', 'no-route', 'unreachable', 'no connection to 192.0.2.7:443 (EADDRNOTAVAIL)'],
    ['EMFILE', 'slow', 'unreachable', 'no connection to 192.0.2.7:443 (EMFILE)'],
    ['ETIMEDOUT', 'slow', 'timeout', '192.0.2.7:443 does not respond'],
    ['ECONNRESET', 'closed', 'closed', '192.0.2.7:443 closed the connection at once'],
  ])('%s: %s, %s', (code, ...expected) => {
    expect(meaning('connect', code)).toEqual(expected);
  });
});

describe('an error of the TLS handshake', () => {
  test.each([
    ...['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_HTTP_REQUEST', 'ERR_SSL_HTTPS_PROXY_REQUEST'],
    ...['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_DATA_LENGTH_TOO_LONG'],
  ])('%s: no TLS', (code) => {
    expect(meaning('handshake', code)).toEqual(['no-tls', 'tls', '192.0.2.7:443 does not speak TLS']);
  });

  test.each([
    ...['ERR_SSL_TLSV1_UNRECOGNIZED_NAME', 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR'],
    // In the words of OpenSSL 3.0 and 3.5.
    ...['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'],
  ])('%s before the ServerHello: no TLS for the name; after it, TLS that we do not agree on', (code) => {
    const message = 'no TLS with 192.0.2.7:443: as OpenSSL says';
    expect(meaning('hello', code, 'as OpenSSL says')).toEqual(['no-tls', 'tls', message]);
    expect(meaning('handshake', code, 'as OpenSSL says')).toEqual(['failed', 'tls', message]);
  });

  test.each([
    'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    'ERR_SSL_UNSUPPORTED_PROTOCOL',
    'ERR_TLS_CERT',
    'EPROTO',
  ])('%s: TLS that we do not agree on', (code) => {
    const expected = ['failed', 'tls', 'no TLS with 192.0.2.7:443: as OpenSSL says'];
    expect(meaning('handshake', code, 'as OpenSSL says')).toEqual(expected);
  });

  test.each(['ECONNRESET', 'EPIPE', 'ERR_CONNECTION_CLOSED'])('%s: closed', (code) => {
    const message = '192.0.2.7:443 closed the connection during the TLS handshake';
    expect(meaning('handshake', code)).toEqual(['closed', 'closed', message]);
  });
});

describe('an error while the head is read', () => {
  test.each([
    [
      'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
      'failed',
      'tls',
      'no TLS with 192.0.2.7:443: as OpenSSL says',
    ],
    [
      'ECONNRESET',
      'closed',
      'closed',
      "192.0.2.7:443 closed the connection before the end of the response's head",
    ],
  ])('%s: %s, %s', (code, ...expected) => {
    expect(meaning('head', code, 'as OpenSSL says')).toEqual(expected);
  });
});
