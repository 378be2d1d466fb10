import { afterAll, beforeAll, expect, test } from 'vitest';
import { EVERYTHING, insertEverything } from '../../support/every-record-type.js';
import { bearer, startTestService, type TestService } from '../../support/service.js';

let service: TestService;
let token: string;

beforeAll(async () => {
  service = await startTestService();
  await insertEverything(service.database.pool);
  token = await service.createToken();
});
afterAll(() => service.stop());

/** The fields of each member of the union, as schema.graphql names them. */
const FIELDS = {
  ARecord: 'ip',
  AaaaRecord: 'ipv6',
  NsRecord: 'target',
  SoaRecord: 'mname rname serial refresh retry expire minimumTtl',
  TxtRecord: 'txt entries',
  CnameRecord: 'target',
  MxRecord: 'pri target',
  SrvRecord: 'pri weight port target',
  CaaRecord: 'flags tag value',
  PtrRecord: 'target',
  NaptrRecord: 'order pref naptrFlags services regex replacement',
  HinfoRecord: 'cpu os',
  OtherRecord: 'data',
};

const QUERY = `query ($name: String!) {
  domain(name: $name) {
    name unicodeName registrableDomain created lastUpdate lastChange
    dnsRecordCount httpHeaderCount changeCount
    dnsRecords {
      ... on DnsRecordEntry { host class type firstSeen removed }
      ${Object.entries(FIELDS).map(([type, fields]) => `... on ${type} { ${fields} }`)}
    }
    httpHeaders { name value history { event date new old } }
  }
}`;

async function viaGraphql() {
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: QUERY, variables: { name: EVERYTHING } }),
  });
  const { data, errors } = JSON.parse(await response.text());
  expect(errors).toBeUndefined();
  return data.domain;
}

async function viaRest(path: string) {
  const response = await fetch(`${service.url}/api/v1/domain/${EVERYTHING}${path}`, {
    headers: bearer(token),
  });
  return JSON.parse(await response.text());
}

/** An entry of REST (specification, 2.2) in the words of GraphQL. */
function asGraphqlEntry({ data, ...times }: { data: Record<string, unknown> }) {
  const { 'minimum-ttl': minimumTtl, ...fields } = data;
  if (data['type'] === 'SOA') return { ...fields, ...times, minimumTtl };
  const { flags, ...others } = fields;
  return data['type'] === 'NAPTR' ? { ...others, ...times, naptrFlags: flags } : { ...fields, ...times };
}

test('REST and GraphQL tell the same of every type of record, every header, and every count', async () => {
  const domain = await viaGraphql();
  const [history, dns, details, headers] = await Promise.all(
    ['', '/dns', '/details', '/headers'].map(viaRest),
  );
  expect(history.dnsRecords.map(asGraphqlEntry)).toEqual(domain.dnsRecords);
  expect(dns.dnsRecords).toEqual(history.dnsRecords);
  expect(history.httpHeaders).toEqual(domain.httpHeaders);
  expect(headers.httpHeaders).toEqual(domain.httpHeaders);
  const { domain: name, ...rest } = details;
  const { dnsRecords: _records, httpHeaders: _headers, ...facts } = domain;
  expect({ name, ...rest }).toEqual(facts);
});
