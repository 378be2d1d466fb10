import { describe, expect, it } from 'vitest';
import { hostName, ipv6, timestamp, txtBytes, txtText } from './canonical.js';
import { bodies, replayLines, totals } from './replay.js';

const A1 = { host: 'a.example', class: 'IN', type: 'A', ip: '192.0.2.1' };
const A2 = { host: 'a.example', class: 'IN', type: 'A', ip: '192.0.2.2' };
const AAAA = { host: 'a.example', class: 'IN', type: 'AAAA', ipv6: '2001:db8::1' };

/** The time of a second, as the answers write it. */
function at(second: number): string {
  return `2024-03-01T10:20:${String(second).padStart(2, '0')}.000000Z`;
}

function line(second: number, rest: object): string {
  return JSON.stringify({ domain: 'a.example', observedAt: at(second), ...rest });
}

/** What the lines make of a.example. */
function story(...lines: string[]) {
  const replay = replayLines(lines);
  return { body: JSON.parse(bodies(replay).get('a.example') ?? 'null'), totals: totals(replay) };
}

/** `[address, first seen, removed]` of each entry, times as seconds. */
function stays({ body }: ReturnType<typeof story>): unknown[] {
  return body.dnsRecords.map((entry: Record<string, Record<string, string> & string>) => [
    entry['data']?.['ip'] ?? entry['data']?.['ipv6'],
    entry['firstSeen']?.slice(17, 19),
    entry['removed']?.slice(17, 19),
  ]);
}

describe('the replay of DNS records', () => {
  it('gives the whole body of a domain byte for byte', () => {
    const lines = [
      line(1, { dnsRecords: [{ ...A1, host: 'A.Example.', ttl: 60 }], httpHeaders: { Server: ' one ' } }),
    ];
    expect(bodies(replayLines(lines)).get('a.example')).toBe(
      '{"domain":"a.example","created":"2024-03-01T10:20:01.000000Z","lastUpdate":"2024-03-01T10:20:01.000000Z",' +
        '"dnsRecords":[{"data":{"host":"a.example","class":"IN","type":"A","ip":"192.0.2.1"},' +
        '"firstSeen":"2024-03-01T10:20:01.000000Z","removed":null}],' +
        '"httpHeaders":[{"name":"server","value":"one","history":[{"event":"created",' +
        '"date":"2024-03-01T10:20:01.000000Z","new":"one","old":null}]}]}',
    );
  });

  it('removes a record that an observation of its type lacks, and gives it a new entry when it returns', () => {
    const told = story(
      line(1, { dnsRecords: [A1, A2] }),
      line(2, { dnsRecords: [A2] }),
      line(3, { dnsRecords: [A1, A2] }),
    );
    expect(stays(told)).toEqual([
      ['192.0.2.1', '01', '02'],
      ['192.0.2.2', '01', undefined],
      ['192.0.2.1', '03', undefined],
    ]);
  });

  it('leaves records alone that were not observed: other types, or no DNS at all', () => {
    const told = story(
      line(1, { dnsRecords: [A1, AAAA] }),
      line(2, { dnsRecords: [], dnsTypes: ['A'] }),
      line(3, { httpHeaders: {} }),
    );
    expect(stays(told)).toEqual([
      ['192.0.2.1', '01', '02'],
      ['2001:db8::1', '01', undefined],
    ]);
    expect(told.body.lastUpdate).toBe(at(3));
  });

  it('takes records that are the same in canonical form for one', () => {
    const told = story(line(1, { dnsRecords: [AAAA, { ...AAAA, ipv6: '2001:0DB8:0:0:0:0:0:0001' }] }));
    expect(stays(told)).toEqual([['2001:db8::1', '01', undefined]]);
  });

  it('orders entries by first sight, type, owner, then numbers as numbers', () => {
    const mx = (pri: number, host: string) => ({ host, class: 'IN', type: 'MX', pri, target: 'm.example' });
    const told = story(
      line(1, { dnsRecords: [mx(10, 'b.example')] }),
      line(2, { dnsRecords: [mx(10, 'b.example'), mx(10, 'a.example'), mx(9, 'a.example'), A1] }),
    );
    const data = told.body.dnsRecords.map((entry: { data: Record<string, unknown> }) => [
      entry.data['type'],
      entry.data['host'],
      entry.data['pri'],
    ]);
    expect(data).toEqual([
      ['MX', 'b.example', 10],
      ['A', 'a.example', undefined],
      ['MX', 'a.example', 9],
      ['MX', 'a.example', 10],
    ]);
  });
});

describe('the replay of times', () => {
  it('lets the lines of two types interleave, and an older line of one type be stale', () => {
    const told = story(
      line(5, { dnsRecords: [A1], dnsTypes: ['A'] }),
      line(3, { dnsRecords: [AAAA], dnsTypes: ['AAAA'] }),
      line(4, { dnsRecords: [A2], dnsTypes: ['A'] }),
    );
    expect(stays(told)).toEqual([
      ['2001:db8::1', '03', undefined],
      ['192.0.2.1', '05', undefined],
    ]);
    expect([told.body.created, told.body.lastUpdate]).toEqual([at(3), at(5)]);
    expect(told.totals).toMatchObject({ recorded: 2, stale: 1, repeated: 0 });
  });

  it('counts an observation of every type as a time of the types not yet seen', () => {
    const told = story(line(5, { dnsRecords: [] }), line(4, { dnsRecords: [A1], dnsTypes: ['A'] }));
    expect(stays(told)).toEqual([]);
    expect(told.totals).toMatchObject({ recorded: 1, stale: 1 });
  });

  it('acts with an older observation of every type on the types that are not known from later', () => {
    const told = story(line(5, { dnsRecords: [A1], dnsTypes: ['A'] }), line(4, { dnsRecords: [A2, AAAA] }));
    expect(stays(told)).toEqual([
      ['2001:db8::1', '04', undefined],
      ['192.0.2.1', '05', undefined],
    ]);
    expect(told.totals).toMatchObject({ recorded: 2, stale: 0 });
  });

  it('changes nothing by a second observation of the same time, but takes the part it brings anew', () => {
    const told = story(
      line(1, { dnsRecords: [A1] }),
      line(1, { dnsRecords: [A2] }),
      line(1, { dnsRecords: [A2], httpHeaders: { server: 'one' } }),
    );
    expect(stays(told)).toEqual([['192.0.2.1', '01', undefined]]);
    expect(told.body.httpHeaders).toHaveLength(1);
    expect(told.totals).toMatchObject({ recorded: 2, repeated: 1 });
  });

  it('keeps microseconds, cuts further digits, and reads offsets', () => {
    expect(timestamp('2024-03-01T00:20:30.1234567+01:00')).toBe('2024-02-29T23:20:30.123456Z');
    expect(timestamp('1969-12-31T23:59:59.9z')).toBe('1969-12-31T23:59:59.900000Z');
  });
});

describe('the replay of HTTP headers', () => {
  it('creates, updates, and keeps silent about equal values, absences and returns', () => {
    const told = story(
      line(1, { httpHeaders: { server: 'one', VIA: ['a', ' b '], via: 'c' } }),
      line(2, { httpHeaders: { via: 'a, b, c' } }),
      line(3, { httpHeaders: { server: 'one', via: 'a' } }),
      line(4, { httpHeaders: { server: 'two' } }),
    );
    const item = (event: string, second: number, now: string, old: string | null) => ({
      event,
      date: at(second),
      new: now,
      old,
    });
    expect(told.body.httpHeaders).toEqual([
      {
        name: 'server',
        value: 'two',
        history: [item('created', 1, 'one', null), item('updated', 4, 'two', 'one')],
      },
      {
        name: 'via',
        value: 'a',
        history: [item('created', 1, 'a, b, c', null), item('updated', 3, 'a', 'a, b, c')],
      },
    ]);
  });

  it('trims what is joined of several values, too', () => {
    const told = story(line(1, { httpHeaders: { via: ['', ' a '], 'set-cookie': ['', ''] } }));
    expect(told.body.httpHeaders.map(({ value }: { value: string }) => value)).toEqual([',', ', a']);
  });
});

describe('the replay of canonical forms', () => {
  it.each([
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:DB8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['1:0:0:0:0:0:0:0', '1::'],
    ['::FFFF:c000:0207', '::ffff:192.0.2.7'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ])('writes the IPv6 address %s as %s', (given, canonical) => {
    expect(ipv6(given)).toBe(canonical);
  });

  it.each([
    ['\\195\\169', 'é'],
    ['\\000\\255', '\\000\\255'],
    ['\u0000', '\\000'],
    ['\\092065', '\\092065'],
    ['\\065', 'A'],
    ['\\256 \\x "', '\\256 \\x "'],
  ])('writes the TXT segment %j as %j', (given, canonical) => {
    expect(txtText(txtBytes(given))).toBe(canonical);
  });

  it('joins the bytes of TXT segments, so that no escape appears where two of them meet', () => {
    const txt = { host: 'a.example', class: 'IN', type: 'TXT', entries: ['\\', '065'] };
    expect(story(line(1, { dnsRecords: [txt] })).body.dnsRecords[0].data).toEqual({
      ...txt,
      txt: '\\092065',
    });
  });

  it('drops the final dot of a name unless it is escaped, and keeps the root', () => {
    expect(['A.', '.', 'a\\.', 'a\\\\.'].map(hostName)).toEqual(['a', '.', 'a\\.', 'a\\\\']);
  });
});
