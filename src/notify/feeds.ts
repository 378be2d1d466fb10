import { createHash } from 'node:crypto';
import type { RestChange } from './changes.js';

/**
 * As JSON Feed 1.1 has it (https://www.jsonfeed.org/version/1.1/). Atom is made of it.
 *
 * @param page The path of the page about the changes.
 */
export function feedOf(
  title: string,
  page: string,
  changes: readonly RestChange[],
  { base, self }: { readonly base: string; readonly self: string },
) {
  return {
    version: 'https://jsonfeed.org/version/1.1',
    title,
    home_page_url: base + page,
    feed_url: self,
    items: changes.map((change) => ({
      id: nameUuid(change.id),
      url: `${base}/domains/${change.domain}`,
      title: titleOf(change),
      content_html: contentOf(change),
      date_published: change.date,
    })),
  };
}

export type Feed = ReturnType<typeof feedOf>;

/** The name space of changes, a random UUID. With another one, readers would show every change again. */
const NAME_SPACE = Buffer.from('d9609f49107e4b30b54b92b85f90ac7e', 'hex');

/** RFC 9562, section 5.5. A change's `id` is always the same, whichever address the service has. */
function nameUuid(id: string): string {
  const octets = createHash('sha1').update(NAME_SPACE).update(id).digest().subarray(0, 16);
  octets.writeUInt8((octets.readUInt8(6) & 0x0f) | 0x50, 6);
  octets.writeUInt8((octets.readUInt8(8) & 0x3f) | 0x80, 8);
  return `urn:uuid:${octets.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`;
}

/** In characters: readers show a line of it. The content has all. */
const MAX_TITLE = 200;

export function titleOf(change: RestChange): string {
  const title = [...`${change.domain}: ${whatOf(change)}`];
  return title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE - 1).join('')}…` : title.join('');
}

/** In plain words: `MX 10 mail.example. added`. */
function whatOf(change: RestChange): string {
  const { domain, kind, data, rdata, name, old, new: value, earliest, oldStatus, newStatus } = change;
  if (newStatus !== undefined) return `status ${oldStatus} → ${newStatus}`;
  if (earliest !== undefined) return `history extended, different from ${earliest} on`;
  const added = change.routine === 'INITIAL' ? 'there when first observed' : 'added';
  if (data !== undefined) {
    const owner = data.host === domain ? '' : `${data.host} `;
    return `${owner}${data.type} ${rdata} ${kind === 'DNS_RECORD_ADDED' ? added : 'removed'}`;
  }
  const verbs: Readonly<Record<string, string>> = {
    HEADER_CREATED: `${added}: ${value}`,
    HEADER_UPDATED: `changed: ${old} → ${value}`,
    HEADER_GONE: `gone: ${old}`,
    HEADER_RETURNED: `returned: ${value}`,
  };
  return `header ${name} ${verbs[kind] ?? 'changed'}`;
}

function contentOf(change: RestChange): string {
  const { kind, routine, data, oldStatus, newStatus } = change;
  const record = data && `${data.host} ${data.class} ${data.type} ${change.rdata}`;
  const isAdded = kind === 'DNS_RECORD_ADDED';
  const facts: Readonly<Record<string, string | number | null | undefined>> = {
    Domain: change.domain,
    Kind: routine === null ? kind : `${kind} (${routine})`,
    Header: change.name,
    Old: isAdded ? undefined : (record ?? change.old ?? oldStatus),
    New: isAdded ? record : (change.new ?? newStatus),
    'Different from': change.earliest,
    'Last seen': change.lastSeen,
    Observed: change.date,
    'Observed by': change.source,
  };
  const items = Object.entries(facts).flatMap(([term, fact]) =>
    fact == null ? [] : `<dt>${term}</dt><dd>${escaped(String(fact))}</dd>`,
  );
  return `<dl>${items.join('')}</dl>`;
}

/** RFC 4287. */
export function atomOf({ title, home_page_url: page, feed_url: self, items }: Feed): string {
  // Without changes, a feed has been updated at no time; Atom requires one.
  const updated = ['1970-01-01T00:00:00Z', ...items.map((item) => item.date_published)].sort().at(-1);
  const entries = items.map(
    (item) => `<entry>
<id>${escaped(item.id)}</id>
<title>${escaped(item.title)}</title>
<updated>${item.date_published}</updated>
<link rel="alternate" type="text/html" href="${escaped(item.url)}"/>
<content type="html">${escaped(item.content_html)}</content>
</entry>
`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${escaped(self)}</id>
<title>${escaped(title)}</title>
<updated>${updated}</updated>
<author><name>Domain Metadata Service</name></author>
<link rel="self" type="application/atom+xml" href="${escaped(self)}"/>
<link rel="alternate" type="text/html" href="${escaped(page)}"/>
${entries.join('')}</feed>
`;
}

/** All but the characters of XML 1.0 (section 2.2): of a value, U+FFFD shows that there was something. */
const NO_CHARACTER = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/**
 * A text for XML and HTML, in elements and attributes alike: line ends and tabs stay what they are (XML 1.0,
 * sections 2.11 and 3.3.3).
 */
export function escaped(text: string): string {
  return text
    .replace(NO_CHARACTER, '\u{fffd}')
    .replace(/[&<>"'\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
