import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseEnvironmentFile } from '../../src/config/env.js';
import { UsageError } from '../../src/model/errors.js';

test.each([
  ['', {}],
  ['PORT=5227\nHOST=::1', { PORT: '5227', HOST: '::1' }],
  ['\uFEFFPORT=1\r\nHOST=a\r\n', { PORT: '1', HOST: 'a' }],
  ['  \n \t# a comment = none\n\n  export  PORT = 1 \t\n', { PORT: '1' }],
  ['DATA_DIR= \nPORT=\nHOST=a', { DATA_DIR: '', PORT: '', HOST: 'a' }],
  ['A=x # c\nB=\'x # y\' # c\nC="x#y"\nD=`"\'`', { A: 'x', B: 'x # y', C: 'x#y', D: '"\'' }],
  ['A="x\ny=1\n"\nB="x\\ny"\nC=\'x\\ny\'', { A: 'x\ny=1\n', B: 'x\ny', C: 'x\\ny' }],
  ["A=it's\nB==a=b", { A: "it's", B: '=a=b' }],
  ['A=1\nA=2', { A: '2' }],
])('a file .env is read: %j', (text, values) => {
  expect(Object.fromEntries(parseEnvironmentFile(text))).toEqual(values);
});

test.each([
  ['PORT=5227\nDATA_DIR=x\nuse tokens\nAUTH_REQUIRED=all', 3],
  ['A="\n\n"\n=secret', 4],
  ['REDIS_PASSWORD: secret', 1],
  ['KEY=x\nMIIsecretQIBADANBgkq', 2],
  ['MIIsecret=#=', 1],
  ['two words=secret', 1],
  ['PGPASSWORD="secret\nB=1', 1],
  ['PGPASSWORD=top#secret', 1],
  ['PGPASSWORD="top\\"secret"', 1],
])(
  'a file .env with a line that is no setting is rejected, by its line and without a value: %j',
  (text, line) => {
    const read = () => parseEnvironmentFile(text);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(`.env, line ${line}: this is not a setting: write NAME=value, with quotes`);
    expect(read).not.toThrow(/secret/);
  },
);

test('in a file .env, whatever is between quotes is the value, and nothing else is', () => {
  const value = fc.string({ unit: fc.constantFrom('a', ' ', '#', '=', '"', '\n', '\\', 'é', '\t') });
  const values = fc.dictionary(fc.stringMatching(/^[A-Za-z_]\w{0,8}$/), value, { noNullPrototype: true });
  fc.assert(
    fc.property(values, (wanted) => {
      const lines = Object.entries(wanted).map(([name, text]) => `${name}='${text}'`);
      expect([...parseEnvironmentFile(lines.join('\n'))]).toEqual(Object.entries(wanted));
    }),
  );
});
