import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { endpointText } from '../../../src/observer/failure.js';
import { guardedLookup, hostField, selectAddresses, type Target } from '../../../src/observer/http/target.js';
import { isPublicAddress } from '../../../src/observer/public-address.js';
import { startHttpServer } from '../../support/web-server.js';

function target(scheme: 'https' | 'http', address: string, port: number): Target {
  return { scheme, domain: 'a.example', address, port };
}

describe('the addresses that are tried', () => {
  test('are the IPv4 ones first, each in the order of the answer, four at most', () => {
    const given = ['2606:4700::2', '192.0.3.2', '2606:4700::1', '192.0.3.1', '2606:4700::3'];
    const addresses = ['192.0.3.2', '192.0.3.1', '2606:4700::2', '2606:4700::1'];
    expect(selectAddresses(given, false)).toEqual(addresses);
  });

  test('are the public ones only, where there are such', () => {
    const given = ['127.0.0.1', '::ffff:10.0.0.1', '192.0.3.1', 'fe80::1', '2606:4700::1', '10.0.0.1'];
    expect(selectAddresses(given, false)).toEqual(['192.0.3.1', '2606:4700::1']);
  });

  test('are all, each once, where private ones are allowed', () => {
    const given = ['::1', '127.0.0.1', '127.0.0.1', 'localhost', '0x7f.1'];
    expect(selectAddresses(given, true)).toEqual(['127.0.0.1', '::1']);
  });

  test.each([
    [['127.0.0.1'], '127.0.0.1 is not a public address'],
    [['10.0.0.1', '::1'], "none of the domain's addresses is public: 10.0.0.1, ::1"],
  ])('are none of %j, and the reason names them', (given, message) => {
    expect(selectAddresses(given, false)).toEqual({
      kind: 'failed',
      failure: { code: 'private-address', message },
    });
  });

  test('are none where the domain has none', () => {
    const failed = { kind: 'failed', failure: { code: 'no-address', message: 'the domain has no address' } };
    expect(selectAddresses([], false)).toEqual(failed);
    expect(selectAddresses(['', 'a.example', '1.2.3'], true)).toEqual(failed);
  });

  test('are never private, whatever DNS says', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string())), (given) => {
        const selected = selectAddresses(given, false);
        if ('kind' in selected) expect(given.some(isPublicAddress)).toBe(false);
        else expect(selected.filter((address) => !isPublicAddress(address))).toEqual([]);
      }),
    );
  });
});

test('the Host field has the port only where it is not the one of the scheme', () => {
  expect(hostField(target('https', '192.0.2.7', 443))).toBe('a.example');
  expect(hostField(target('http', '192.0.2.7', 80))).toBe('a.example');
  expect(hostField(target('https', '192.0.2.7', 80))).toBe('a.example:80');
  expect(hostField(target('http', '192.0.2.7', 8080))).toBe('a.example:8080');
});

test('an endpoint is written as in a URL', () => {
  expect(endpointText(target('http', '192.0.2.7', 80))).toBe('192.0.2.7:80');
  expect(endpointText(target('https', '2001:db8::7', 443))).toBe('[2001:db8::7]:443');
});

/** What the lookup gives the socket for a name: the addresses, or the error's code. */
function answerOf(address: string, allowPrivate: boolean, name: string, all = false): unknown {
  let given: unknown;
  guardedLookup([address], allowPrivate)(name, { all }, (error, answer, family) => {
    given = error === null ? (Array.isArray(answer) ? answer : [{ address: answer, family }]) : error.code;
  });
  return given;
}

describe("the lookup of an observation's sockets", () => {
  test('gives the one address, whatever the name, and resolves nothing', () => {
    expect(answerOf('192.0.3.7', false, 'localhost')).toEqual([{ address: '192.0.3.7', family: 4 }]);
    expect(answerOf('2606:4700::7', false, 'a.example', true)).toEqual([
      { address: '2606:4700::7', family: 6 },
    ]);
  });

  test.each([
    ...['127.0.0.1', '10.0.0.1', '169.254.169.254', '0.0.0.0', '255.255.255.255', '::', '::1', 'fe80::1'],
    ...['::ffff:10.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::10.0.0.1', '2002:a00:1::', 'fd00::1'],
    ...['100:0:0:1::1', '0x7f.1', '017700000001', '2130706433', 'localhost', ''],
  ])('rejects %j, in both forms of its result', (address) => {
    expect(answerOf(address, false, 'a.example')).toBe('ERR_PRIVATE_ADDRESS');
    expect(answerOf(address, false, 'a.example', true)).toBe('ERR_PRIVATE_ADDRESS');
  });

  test('allows any address where private ones are allowed', () => {
    expect(answerOf('127.0.0.1', true, 'a.example')).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect(answerOf('::ffff:10.0.0.1', true, 'a.example')).toEqual([
      { address: '::ffff:10.0.0.1', family: 6 },
    ]);
  });

  test('never gives an address that is not public', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), fc.domain(), (address, name) => {
        const answer = answerOf(address, false, name);
        if (isPublicAddress(address)) expect(answer).toMatchObject([{ address }]);
        else expect(answer).toBe('ERR_PRIVATE_ADDRESS');
      }),
    );
  });

  test('keeps a real socket from connecting', async () => {
    const server = await startHttpServer();
    onTestFinished(() => server.close());
    const lookup = guardedLookup([server.address], false);
    const socket = connect({ host: 'a.example', port: server.port, lookup, autoSelectFamily: false });
    const [error] = await once(socket, 'error');
    expect(error).toMatchObject({ code: 'ERR_PRIVATE_ADDRESS' });
    expect(server.connections).toBe(0);
  });
});
