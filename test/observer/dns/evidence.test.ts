import { describe, expect, test } from 'vitest';
import { parseDnsRecord, recordsByType } from '../../../src/model/dns-record.js';
import { createQuestion, encodeQuery } from '../../../src/observer/dns/message.js';
import {
  type Asked,
  addedIn,
  answerTo,
  look,
  presentIn,
  type Reply,
  record,
  removedIn,
  reply,
  rrsig,
  TYPES,
  wanted,
} from '../../support/dns-evidence.js';
import { encodeResponse, readQuery } from '../../support/dns-message.js';
import { nameOctets } from '../../support/dns-octets.js';
import { address, cname, dname, hex, ns, rr, soa } from '../../support/dns-records.js';
import { Zone } from '../../support/dns-zone.js';
import { CHAINS_WITHOUT_PROOF, PROVES_NOTHING } from './evidence-shapes.js';

const ZONE = `
$ORIGIN example.test.
@   SOA   ns1 hostmaster 1 7200 900 1209600 300
@   NS    ns1
@   NS    ns2
@   A     192.0.2.1
@   A     192.0.2.2
@   AAAA  2001:db8::1
@   MX    10 mail
@   MX    20 mail2
@   TXT   "v=spf1 -all"
@   TXT   "one" "two"
@   CAA   0 issue "ca.test"
www CNAME a
a   CNAME b
b   CNAME c
c   A     192.0.2.3
c   AAAA  2001:db8::3
`;

/** Itself the owner of eleven records, or led to two addresses by a chain of three CNAMEs. */
const NAMES = ['example.test', 'www.example.test'];
const FOLLOWED = TYPES.filter((type) => type !== 'CNAME');

/** What a zone says, without the id. */
function repliesOf(text: string): Reply {
  const zone = new Zone(text);
  return ({ name, type, owner, number }) => {
    const query = readQuery(encodeQuery(createQuestion(name, type), 0, false));
    if (query === undefined) throw new Error('The query is whole.');
    return encodeResponse(query, zone.answer(owner, number)).subarray(2);
  };
}

const good = repliesOf(ZONE);

/** What is lost where some types are answered so once, between two looks at which all is well. */
async function lossBy(misleading: Reply, types: readonly string[] = TYPES) {
  const looks = NAMES.map(async (name) => {
    const known = await look(null, name, good);
    const misled = await look(known, name, good, misleading, types);
    const afterwards = await look(misled, name, good);
    const before = new Set(presentIn(known));
    return [...removedIn(misled), ...addedIn(afterwards).filter((text) => before.has(text))];
  });
  return (await Promise.all(looks)).flat();
}

/** What changes where some types are answered so. */
async function changesBy(replied: Reply, types: readonly string[]) {
  const looks = NAMES.map(async (name) => look(await look(null, name, good), name, good, replied, types));
  const ended = await Promise.all(looks);
  return { removed: ended.flatMap(removedIn).sort(), added: ended.flatMap(addedIn).sort() };
}

describe('a reply that proves nothing removes nothing, and no record comes back a second time', () => {
  test.each(PROVES_NOTHING)('%s', async (_title, misleading) => {
    expect(await lossBy(misleading)).toEqual([]);
  });

  test.each(CHAINS_WITHOUT_PROOF)('%s', async (_title, misleading) => {
    expect(await lossBy(misleading, FOLLOWED)).toEqual([]);
  });
});

const TXT = [
  'example.test TXT {"txt":"onetwo","entries":["one","two"]}',
  'example.test TXT {"txt":"v=spf1 -all","entries":["v=spf1 -all"]}',
];

describe('a reply that proves an absence removes what is absent', () => {
  test.each<[string, Reply]>([
    ['NODATA with the SOA of the name', reply('8500', [], [soa('example.test')])],
    ['NODATA with the SOA of the zone above', reply('8180', [], [soa('test')])],
    ['NODATA with the SOA of the root', reply('8180', [], [soa('.')])],
    ['NODATA with an SOA in another case', reply('8180', [], [soa('TeSt')])],
    ['NODATA with NS and SOA', reply('8180', [], [ns('test'), soa('test')])],
    ['NODATA with an RRSIG beside the SOA', reply('8180', [], [rrsig, soa('test')])],
    ['NODATA with other additional records', reply('8180', [], [soa('test')], [address('ns.test')])],
    ['NXDOMAIN with an SOA', reply('8583', [], [soa('test')])],
  ])('%s', async (_title, proof) => {
    expect(await changesBy(proof, ['TXT'])).toEqual({ removed: TXT, added: [] });
  });

  test('NXDOMAIN with the SOA of the zone above, for every type: all eleven, and the chain', async () => {
    const { removed, added } = await changesBy(reply('8183', [], [soa('test')]), TYPES);
    expect([removed.length, added]).toEqual([11 + 5, []]);
  });

  test.each([
    ['NODATA', '8180'],
    ['NXDOMAIN', '8183'],
  ])('%s at the end of a chain, with the SOA of the zone that the end is in', async (_title, flags) => {
    const link = (owner: string, target: string) => cname(`${owner}.example.test`, `${target}.example.test`);
    const chain = [link('www', 'a'), link('a', 'b'), link('b', 'c')];
    const gone = reply(flags, chain, [soa('c.example.test')]);
    const known = await look(null, 'www.example.test', good);
    expect(removedIn(await look(known, 'www.example.test', good, gone, ['A', 'AAAA']))).toEqual([
      'c.example.test A {"ip":"192.0.2.3"}',
      'c.example.test AAAA {"ipv6":"2001:db8::3"}',
    ]);
  });
});

test('DS records are denied by the zone above the cut, and not by the zone below it (RFC 4035, 3.1.4.1)', () => {
  const denied = (zoneName: string) => answerTo('sub.test', 'DS', reply('8180', [], [soa(zoneName)]));
  expect(denied('sub.test')).toMatchObject({ failure: { code: 'unproven' } });
  expect(denied('test')).toMatchObject({ kind: 'answered', nameExists: true, records: [] });
});

describe('records of the queried name, or of the end of its chain, are accepted', () => {
  const found = (host: string) => `${host} A {"ip":"203.0.113.7"}`;

  test('and those of other owners, types, classes and sections beside them are not', async () => {
    const others = [rr(hex`c00c`, 1, hex`cb007109`, 3), rr(hex`c00c`, 65_280, hex`00`)];
    const answer = [address('OTHER.test'), wanted, ...others];
    const beside = reply('8180', answer, [ns('test')], [address('ns.test')]);
    const { removed, added } = await changesBy(beside, ['A']);
    expect(removed).toHaveLength(3);
    expect(added).toEqual(NAMES.map(found));
  });

  test('the whole chain is recorded, in whatever order and case it comes', async () => {
    const chain = [address('Z.test'), cname('y.TEST', 'z.test'), (q: Asked) => cname(q.name, 'Y.test')];
    const { added } = await changesBy(reply('8180', chain), ['A']);
    for (const domain of NAMES) {
      expect(added).toContain(found('z.test'));
      expect(added).toContain(`${domain} CNAME {"target":"y.test"}`);
      expect(added).toContain('y.test CNAME {"target":"z.test"}');
    }
  });

  test.each([
    ['with the CNAME that follows from it', true],
    ['without a CNAME', false],
  ])('a DNAME is followed and recorded, %s', async (_title, hasCname) => {
    const moved = (asked: Asked) => asked.name.replace(/test$/, 'invalid');
    const synthesized = hasCname ? [(asked: Asked) => cname(asked.name, moved(asked))] : [];
    const records = [dname('test', 'invalid'), ...synthesized, (asked: Asked) => address(moved(asked))];
    const { added } = await changesBy(reply('8180', records), ['A']);
    expect(added).toContain(found('example.invalid'));
    expect(added.filter((text) => text.startsWith('test DNAME '))).toHaveLength(2);
    expect(added.filter((text) => text.includes(' CNAME '))).toHaveLength(hasCname ? 2 : 0);
  });

  test('an incomplete chain shows its CNAMEs and DNAMEs, and leaves the addresses as they are', async () => {
    const away = reply('8500', [(asked) => cname(asked.name, 'a.b.test'), dname('b.test', 'away.invalid')]);
    const { removed, added } = await changesBy(away, ['A', 'AAAA']);
    expect(removed).toEqual([]);
    for (const domain of NAMES) expect(added).toContain(`${domain} CNAME {"target":"a.b.test"}`);
    expect(added.filter((text) => text === 'b.test DNAME {"data":"away.invalid."}')).toHaveLength(2);
  });
});

describe('the aliases of a domain', () => {
  const WWW = 'www.example.test';
  const link = (owner: string, target: string) => `${owner}.example.test CNAME {"target":"${target}"}`;
  const own = (owner: string, target: string) => link(owner, `${target}.example.test`);
  /** Those that are present after the zone has changed. */
  const linksAfter = async (from: string, to: string, types = TYPES) => {
    const changed = repliesOf(ZONE.replace(from, to));
    const progress = await look(await look(null, WWW, good), WWW, good, changed, types);
    return presentIn(progress).filter((text) => text.includes(' CNAME '));
  };

  test('are lost where a complete chain does not lead through them any more', async () => {
    expect(await linksAfter('www CNAME a', 'www CNAME b')).toEqual([own('b', 'c'), own('www', 'b')]);
  });

  test('are kept behind the place in which an incomplete chain ends', async () => {
    const links = await linksAfter('a   CNAME b', 'a   CNAME elsewhere.example.net.');
    expect(links).toEqual([link('a', 'elsewhere.example.net'), own('b', 'c'), own('www', 'a')]);
  });

  test('are all lost when it has records of its own', async () => {
    expect(await linksAfter('www CNAME a', 'www A 192.0.2.9')).toEqual([]);
  });

  test('have the DNAME under its own owner, beside the CNAME made of it, until a chain comes without it', async () => {
    const cnames = [cname('www.old.test', 'www.example.test'), address('www.example.test')];
    const gone = reply('8180', [], [soa('test')]);
    const shown = (...links: readonly Buffer[]): Reply => reply('8180', [...links, ...cnames]);
    const withDname = await look(null, 'www.old.test', gone, shown(dname('old.test', 'example.test')), ['A']);
    expect(presentIn(withDname)).toContain('old.test DNAME {"data":"example.test."}');
    const without = await look(withDname, 'www.old.test', gone, shown(), ['A']);
    expect([addedIn(without), removedIn(without)]).toEqual([[], ['old.test DNAME {"data":"example.test."}']]);
  });

  test('include DNAMEs at and below the domain that no answer for its name shows: they stay', async () => {
    const dnames = ['example.test', 'sub.example.test'].map((host) =>
      parseDnsRecord({ host, class: 'IN', type: 'DNAME', data: 'other.test.' }),
    );
    const types = new Set(['DNAME']);
    const known = record(null, {
      domain: 'example.test',
      observedAt: 1_600_000_000_000_000n,
      dns: { types, records: recordsByType(dnames) },
    });
    expect(removedIn(await look(known, 'example.test', good))).toEqual([]);
  });
});

test('the order of the records, repeats, TTL and case make no difference', () => {
  const a = (owner: string, last: number) => rr(nameOctets(owner), 1, Buffer.of(192, 0, 2, last));
  const late = a('asked.test', 1);
  late.writeUInt32BE(4_000_000_000, nameOctets('asked.test').length + 4);
  const one = answerTo('asked.test', 'A', reply('8180', [a('asked.test', 1), a('asked.test', 2)]));
  const two = answerTo('asked.test', 'A', reply('8180', [a('ASKED.Test', 2), late, a('asKed.test', 2)]));
  expect(one).toMatchObject({ records: [{ rdata: '{"ip":"192.0.2.1"}' }, { rdata: '{"ip":"192.0.2.2"}' }] });
  expect(two).toEqual(one);
});
