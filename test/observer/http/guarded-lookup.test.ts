import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { guardedLookup } from '../../../src/observer/http/target.js';
import { isPublicAddress } from '../../../src/observer/public-address.js';
import { startHttpServer } from '../../support/web-server.js';

/** What the lookup gives the socket for a name: the addresses, or the error's code. */
function answerOf(address: string, allowPrivate: boolean, name: string, all = false): unknown {
  let given: unknown;
  guardedLookup(address, allowPrivate)(name, { all }, (error, answer, family) => {
    given = error === null ? (Array.isArray(answer) ? answer : [{ address: answer, family }]) : error.code;
  });
  return given;
}

describe("the lookup of an observation's sockets", () => {
  test('gives the one address, whatever the name, and asks nobody', () => {
    expect(answerOf('192.0.3.7', false, 'localhost')).toEqual([{ address: '192.0.3.7', family: 4 }]);
    expect(answerOf('2606:4700::7', false, 'a.example', true)).toEqual([
      { address: '2606:4700::7', family: 6 },
    ]);
  });

  test.each([
    ...['127.0.0.1', '10.0.0.1', '169.254.169.254', '0.0.0.0', '255.255.255.255', '::', '::1', 'fe80::1'],
    ...['::ffff:10.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::10.0.0.1', '2002:a00:1::', 'fd00::1'],
    ...['100:0:0:1::1', '0x7f.1', '017700000001', '2130706433', 'localhost', ''],
  ])('refuses %j, in both forms of its answer', (address) => {
    expect(answerOf(address, false, 'a.example')).toBe('ERR_PRIVATE_ADDRESS');
    expect(answerOf(address, false, 'a.example', true)).toBe('ERR_PRIVATE_ADDRESS');
  });

  test('lets any address through where private ones are allowed', () => {
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
    const lookup = guardedLookup(server.address, false);
    const socket = connect({ host: 'a.example', port: server.port, lookup, autoSelectFamily: false });
    const [error] = await once(socket, 'error');
    expect(error).toMatchObject({ code: 'ERR_PRIVATE_ADDRESS' });
    expect(server.connections).toBe(0);
  });
});
