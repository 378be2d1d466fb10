import fc from 'fast-check';
import { parseAtomFeed, parseJsonFeed } from 'feedsmith';
import { describe, expect, test } from 'vitest';
import { escaped } from '../../../src/notify/feeds.js';
import { createRecorder } from '../../../src/recorder/recorder.js';
import { anyCharacter } from '../../support/any-character.js';
import { observation } from '../../support/observations.js';
import { bearer, serviceOfFile } from '../../support/service.js';
import { readElement, xmlFault } from '../../support/xml.js';

const MAIL = { host: 'example.com', class: 'IN', type: 'MX', pri: 10, target: 'mail.example' };

const service = serviceOfFile({ trustProxy: 1 }, ({ record }) =>
  record(
    { at: 0, records: ['192.0.2.1'], headers: { server: 'a' }, source: 'probe-1' },
    { at: 1, records: ['192.0.2.1', MAIL], types: ['A', 'MX'], headers: { server: 'b' } },
    { domain: 'other.example', at: 2, headers: { server: '<b>&"\' ]]>', 'x-tab': 'a\tb' } },
    { at: 3, records: [], types: ['A'], headers: { 'x-new': 'n'.repeat(500) } },
  ),
);
const auth = { provider: undefined, required: 'all' } as const;
const closed = serviceOfFile(() => ({ database: service.database, basePath: '/a/dms', auth }));

const get = (path: string, headers: Record<string, string> = {}, from = service) => from.rest(path, headers);

interface Item {
  readonly id: string;
  readonly title: string;
  readonly content_html: string;
}

const itemsOf = async (path: string): Promise<readonly Item[]> => (await get(path)).body.items;

function basic(password: string, user = 'reader'): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

describe.each([
  ['/changes', '/'],
  ['/domain/example.com/changes', '/domains/example.com'],
])('the feeds of %s', (path, page) => {
  test(`${path}.atom is what an XML parser and a reader understand, with all that RFC 4287 requires`, async () => {
    const { changes }: { changes: { date: string }[] } = (await get(`${path}?order=NEWEST_FIRST`)).body;
    const dates = changes.map(({ date }) => date);
    const { fields, text } = await get(`${path}.atom`);
    expect(fields.get('content-type')).toBe('application/atom+xml; charset=utf-8');
    expect(xmlFault(text)).toBeNull();
    const { url } = service;
    const feed = parseAtomFeed(text);
    expect(feed).toMatchObject({
      id: `${url}/api/v1${path}.atom`,
      updated: dates.toSorted().at(-1),
      authors: [{ name: 'Domain Metadata Service' }],
      links: [
        { rel: 'self', href: `${url}/api/v1${path}.atom` },
        { rel: 'alternate', href: url + page },
      ],
    });
    expect(feed.entries?.map((entry) => entry.updated)).toEqual(dates);
    for (const { id, title, links, content } of feed.entries ?? []) {
      expect(id).toMatch(/^urn:uuid:[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
      expect(links?.[0]?.href).toBe(`${url}/domains/${title?.value.replace(/:.*/, '')}`);
      expect(content).toMatchObject({ type: 'html', value: expect.stringMatching(/^<dl>.*<\/dl>$/) });
    }
  });

  test(`${path}.json is JSON Feed 1.1 with the entries of Atom, each id once, and with absolute URLs`, async () => {
    const { fields, body } = await get(`${path}.json`);
    expect(fields.get('content-type')).toBe('application/feed+json; charset=utf-8');
    expect(body).toMatchObject({
      version: 'https://jsonfeed.org/version/1.1',
      title: expect.stringMatching(/^Changes of /),
      home_page_url: service.url + page,
      feed_url: `${service.url}/api/v1${path}.json`,
    });
    const atom = parseAtomFeed((await get(`${path}.atom`)).text);
    const items = parseJsonFeed(body).items?.map(({ id, title }) => ({ id, title }));
    expect(items).toEqual(atom.entries?.map(({ id, title }) => ({ id, title: title?.value })));
    expect(new Set(items?.map(({ id }) => id)).size).toBe(items?.length);
  });

  test(`the feeds of ${path} are 304 to a reader that has the present one, and not after a change`, async () => {
    for (const [index, form] of ['atom', 'json'].entries()) {
      const etag = (await get(`${path}.${form}`)).fields.get('etag') ?? '';
      const revalidate = () => get(`${path}.${form}`, { 'if-none-match': etag });
      expect((await revalidate()).status).toBe(304);
      await service.record({ at: path.length + index + 1, headers: { server: form + path } });
      const after = await revalidate();
      expect(after.status).toBe(200);
      expect(after.fields.get('etag')).not.toBe(etag);
    }
  });

  test(`the feeds of ${path} take no order and no page, and the filters of the operation`, async () => {
    expect((await get(`${path}.atom?first=1`)).status).toBe(400);
    expect((await get(`${path}.json?order=OLDEST_FIRST`)).status).toBe(400);
    const items = await itemsOf(`${path}.json?kinds=DNS_RECORD_REMOVED`);
    expect(items.map(({ title }) => title)).toEqual(['example.com: A 192.0.2.1 removed']);
  });

  test(`the feeds of ${path} need a token where the operation does, also as the password of any user`, async () => {
    const token = await closed.createToken();
    const realm = 'realm="Domain Metadata Service"';
    for (const form of ['atom', 'json']) {
      const ask = async (headers = {}) => {
        const { status, fields } = await get(`${path}.${form}`, headers, closed);
        return [status, fields.get('www-authenticate')];
      };
      expect(await ask()).toEqual([401, `Bearer ${realm}, Basic ${realm}, charset="UTF-8"`]);
      for (const headers of [bearer(token), basic(token), basic(token, ''), basic(token, 'ü')])
        expect(await ask(headers)).toEqual([200, null]);
      for (const headers of [basic('wrong'), basic(`dms_${'a'.repeat(43)}`), basic(''), basic(`${token}x`)])
        expect(await ask(headers)).toEqual([401, expect.stringContaining(`, Basic ${realm}`)]);
    }
    expect((await get(path, {}, closed)).fields.get('www-authenticate')).not.toContain('Basic');
    expect((await get(path, basic(token), closed)).status).toBe(200);
    const logged = JSON.stringify(closed.logged);
    for (const secret of [token, String(basic(token)['authorization']).slice(6)])
      expect(logged).not.toContain(secret);
  });
});

test('an entry of a feed says in plain words what changed', async () => {
  const items = await itemsOf('/changes.json');
  const titles = items.map(({ title }) => title);
  for (const title of [
    'example.com: A 192.0.2.1 there when first observed',
    'example.com: A 192.0.2.1 removed',
    'example.com: MX 10 mail.example. added',
    'example.com: header server changed: a → b',
    'example.com: header server gone: b',
    'other.example: header server there when first observed: <b>&"\' ]]>',
  ])
    expect(titles).toContain(title);
  const long = items.find(({ title }) => title.includes('nnn'));
  expect(long?.title).toMatch(/^.{199}…$/);
  expect(long?.content_html).toContain('n'.repeat(500));
  expect(items.find(({ title }) => title.includes('MX'))?.content_html).toContain(
    '<dt>New</dt><dd>example.com IN MX 10 mail.example.</dd>',
  );
});

test('the feed of a domain has its changes alone, with the ids of the feed of all, which stay', async () => {
  const [all, own] = [await itemsOf('/changes.json'), await itemsOf('/domain/example.com/changes.json')];
  expect(own.length).toBeLessThan(all.length);
  expect(own.map(({ title }) => title.replace(/:.*/, ''))).not.toContain('other.example');
  expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining(own.map(({ id }) => id)));
  await service.record({ at: 99, headers: { server: 'c' } });
  const later = await itemsOf('/domain/example.com/changes.json');
  expect(later).toEqual(expect.arrayContaining([...own]));
  expect(later.length).toBeGreaterThan(own.length);
});

test('the URN of a change is that of every release: readers would show all again', async () => {
  const items = await itemsOf('/changes.json?domains=other.example');
  expect(items.map(({ id }) => id)).toEqual([
    'urn:uuid:50f91eb4-dc4b-5100-a8b7-20eb90d594b6',
    'urn:uuid:a5474cdd-c86e-571f-b73b-ade02846e802',
  ]);
});

test('URLs of a feed have the scheme and the host that the client has used by the proxy, and the base path', async () => {
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'dms.example' };
  const path = '/changes.json?kinds=HEADER_GONE';
  expect((await get(path, headers)).body.feed_url).toBe(`https://dms.example/api/v1${path}`);
  const token = bearer(await closed.createToken());
  // No proxy is trusted there.
  expect((await get('/changes.json', { ...headers, ...token }, closed)).body).toMatchObject({
    feed_url: `${closed.url}/api/v1/changes.json`,
    items: expect.arrayContaining([expect.objectContaining({ url: `${closed.url}/domains/example.com` })]),
  });
});

test('a feed with a duration has no validators, as all that has one', async () => {
  const { fields } = await get('/domain/example.com/changes.atom?from=30d');
  expect([fields.get('etag'), fields.get('cache-control')]).toEqual([null, 'no-store']);
});

test('the feed of a domain of which nothing is recorded is 404, and without changes a feed is empty', async () => {
  expect((await get('/domain/unknown.example/changes.atom')).status).toBe(404);
  const { text } = await get('/changes.atom?domains=unknown.example');
  expect(xmlFault(text)).toBeNull();
  expect(parseAtomFeed(text)).toMatchObject({ updated: '1970-01-01T00:00:00Z' });
});

test('an XML parser reads any text as it was, in elements and attributes, but for what XML forbids', () => {
  const anyText = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
    fc.string({ unit: fc.constantFrom(...'&<>"\']\t\n\r\0\u{b}\ufffe') }),
  );
  fc.assert(
    fc.property(anyText, (text) => {
      const expected = [...text].map((character) => (isXml(character) ? character : '\ufffd')).join('');
      const document = `<e a="${escaped(text)}">${escaped(text)}</e>`;
      expect(readElement(document)).toEqual({ text: expected, attribute: expected });
    }),
  );
});

/** XML 1.0, section 2.2. */
function isXml(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return [9, 10, 13].includes(code);
  return (code < 0xd800 || code > 0xdfff) && code !== 0xfffe && code !== 0xffff;
}

test('a feed with a filter has the latest changes that it selects, however many others were recorded since', async () => {
  const recorder = createRecorder(service.database.pool);
  // A page of the API examines 10,000 recordings.
  const others = Array.from({ length: 10_500 }, (_, index) =>
    observation({ domain: `d${index}.example`, at: 100, records: ['192.0.2.1'], types: ['A'] }),
  );
  for (let first = 0; first < others.length; first += 1_500) {
    await recorder.record(others.slice(first, first + 1_500));
  }
  const titles = async (path: string) => (await itemsOf(path)).map(({ title }) => title);
  expect(await titles('/changes.json?types=MX')).toEqual(['example.com: MX 10 mail.example. added']);
  expect(await titles('/changes.json?domains=other.example&headers=x-tab')).toHaveLength(1);
});
