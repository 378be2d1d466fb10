import { expect, test } from 'vitest';
import { type ObservationParts, timeText } from '../support/observations.js';
import { serviceOfFile } from '../support/service.js';

const HOUR = 3_600;
const NS = { host: 'example.com', class: 'IN', type: 'NS', target: 'ns1.example.net' };
/** Each hour one of three addresses in turn, and always the same name server. */
const LOOKS: readonly ObservationParts[] = Array.from({ length: 8 }, (_, hour) => ({
  at: hour * HOUR,
  records: [`192.0.2.${(hour % 3) + 1}`, NS],
}));
const time = (hour: number) => `${timeText(hour * HOUR).slice(0, 19)}.000000Z`;

const service = serviceOfFile({}, ({ record }) => record(...LOOKS));

const FIELDS = 'host type rotating poolSize pool { data firstSeen lastSeen stays }';

async function rrsetsOf(args: string, domainArgs = '') {
  const query = `{ domain(name: "example.com"${domainArgs}) { rrsets${args} { ${FIELDS} } } }`;
  return (await service.graphql(query)).data.domain.rrsets;
}

test('an RRset tells its pool: each value it had, when and how often, the latest first, and whether it rotates', async () => {
  const [host, nameServer] = ['example.com', 'ns1.example.net.'];
  const addresses = [
    { data: '192.0.2.2', firstSeen: time(1), lastSeen: time(7), stays: 3 },
    { data: '192.0.2.1', firstSeen: time(0), lastSeen: time(6), stays: 3 },
    { data: '192.0.2.3', firstSeen: time(2), lastSeen: time(5), stays: 2 },
  ];
  const nameServers = [{ data: nameServer, firstSeen: time(0), lastSeen: time(7), stays: 1 }];
  expect(await rrsetsOf('')).toEqual([
    { host, type: 'A', rotating: true, poolSize: 3, pool: addresses },
    { host, type: 'NS', rotating: false, poolSize: 1, pool: nameServers },
  ]);
});

test('types select RRsets, of which nothing later is known as of a time', async () => {
  const pool = [
    { data: '192.0.2.3', firstSeen: time(2), lastSeen: time(2), stays: 1 },
    { data: '192.0.2.2', lastSeen: time(1), stays: 1 },
    { data: '192.0.2.1', lastSeen: time(0), stays: 1 },
  ];
  const then = `, at: "${timeText(2 * HOUR + 60)}"`;
  const rrset = { type: 'A', rotating: false, poolSize: 3, pool };
  expect(await rrsetsOf('(types: ["a"])', then)).toMatchObject([rrset]);
  expect(await rrsetsOf('(types: ["MX"])')).toEqual([]);
});
