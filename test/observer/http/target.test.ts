import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { guardedLookup, hostField, selectAddresses } from '../../../src/observer/http/target.js';
import { isPublicAddress } from '../../../src/observer/public-address.js';
import { startHttpServer } from '../../support/web-server.js';

describe('the addresses that are tried', () => {
  test.each([
    [
      'are the IPv4 ones first, each in the order of the answer, four at most',
      ['2606:4700::2', '192.0.3.2', '2606:4700::1', '192.0.3.1', '2606:4700::3'],
      false,
      ['192.0.3.2', '192.0.3.1', '2606:4700::2', '2606:4700::1'],
    ],
    [
      'are the public ones only, where there are such',
      ['127.0.0.1', '::ffff:10.0.0.1', '192.0.3.1', 'fe80::1', '2606:4700::1', '10.0.0.1'],
      false,
      ['192.0.3.1', '2606:4700::1'],
    ],
    [
      'are all, each once, where private ones are allowed',
      ['::1', '127.0.0.1', '127.0.0.1', 'localhost', '0x7f.1'],
      true,
      ['127.0.0.1', '::1'],
    ],
    ['are none where all are private', ['10.0.0.1', '::1'], false, []],
  ])('%s', (_what, given, allowPrivate, selected) => {
    expect(selectAddresses(given, allowPrivate)).toEqual(selected);
  });
});

test.each([
  ['https', 443, 'a.example'],
  ['http', 80, 'a.example'],
  ['https', 80, 'a.example:80'],
  ['http', 8080, 'a.example:8080'],
] as const)(
  'the Host field has the port only where it is not the one of the scheme: %s, %i',
  (scheme, port, field) => {
    expect(hostField({ scheme, domain: 'a.example', address: '192.0.2.7', port })).toBe(field);
  },
);

/** What the lookup gives the socket for a name: the addresses, or the error's name. */
function answerOf(address: string, allowPrivate: boolean, name: string, all = false): unknown {
  let given: unknown;
  guardedLookup([address], allowPrivate)(name, { all }, (error, answer, family) => {
    given = error === null ? (Array.isArray(answer) ? answer : [{ address: answer, family }]) : error.name;
  });
  return given;
}

describe('the lookup of a socket of the observer', () => {
  test.each([
    ['192.0.3.7', 4, false],
    ['2606:4700::7', 6, false],
    ['::ffff:10.0.0.1', 6, true],
  ])(
    'gives the one address, whatever the name, and resolves nothing: %s',
    (address, family, allowPrivate) => {
      expect(answerOf(address, allowPrivate, 'localhost')).toEqual([{ address, family }]);
      expect(answerOf(address, allowPrivate, 'a.example', true)).toEqual([{ address, family }]);
    },
  );

  test('never gives an address that is not public, nor what is none, in both forms of its result', () => {
    const texts = fc.constantFrom('127.0.0.1', '::1', '::ffff:10.0.0.1', '0x7f.1', '2130706433', 'a', '');
    fc.assert(
      fc.property(fc.oneof(texts, fc.ipV4(), fc.ipV6(), fc.string()), fc.boolean(), (address, all) => {
        const answer = answerOf(address, false, 'a.example', all);
        if (isPublicAddress(address)) expect(answer).toMatchObject([{ address }]);
        else expect(answer).toBe('PrivateAddressError');
      }),
    );
  });

  test('keeps a real socket from connecting', async () => {
    const server = await startHttpServer();
    onTestFinished(() => server.close());
    const lookup = guardedLookup([server.address], false);
    const socket = connect({ host: 'a.example', port: server.port, lookup, autoSelectFamily: false });
    const [error] = await once(socket, 'error');
    expect(error).toMatchObject({ name: 'PrivateAddressError' });
    expect(server.connections).toBe(0);
  });
});
