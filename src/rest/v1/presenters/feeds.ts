import { atomOf, type Feed, feedOf } from '../../../notify/feeds.js';
import type { Place } from './body.js';
import { type ChangesResult, type DomainChangesResult, presentChange } from './changes.js';

const NOWHERE: Place = { base: '', self: '' };

const ofDomain = ({ domain, changes }: DomainChangesResult, _countedFrom: unknown, place = NOWHERE): Feed => {
  const named = changes.nodes.map((change) => ({ ...presentChange(change), domain }));
  return feedOf(`Changes of ${domain}`, `/domains/${domain}`, named, place);
};

const ofAll = ({ nodes }: ChangesResult, _countedFrom: unknown, place = NOWHERE): Feed => {
  const named = nodes.map((change) => ({ ...presentChange(change), domain: change.domain?.name ?? '' }));
  return feedOf('Changes of all domains', '/', named, place);
};

// The value is what `present` of the same body has made.
const ATOM = { mediaType: 'application/atom+xml', textOf: (value: object) => atomOf(value as Feed) } as const;
const JSON_FEED = { mediaType: 'application/feed+json', textOf: JSON.stringify } as const;
const OF_DOMAIN = { pageIn: ({ changes }: DomainChangesResult) => changes };
const OF_ALL = { pageIn: (found: ChangesResult) => found };

export const DOMAIN_CHANGES_ATOM = { name: 'AtomFeed', present: ofDomain, feed: { ...ATOM, ...OF_DOMAIN } };
export const DOMAIN_CHANGES_FEED = {
  name: 'JsonFeed',
  present: ofDomain,
  feed: { ...JSON_FEED, ...OF_DOMAIN },
};
export const CHANGES_ATOM = { name: 'AtomFeed', present: ofAll, feed: { ...ATOM, ...OF_ALL } };
export const CHANGES_FEED = { name: 'JsonFeed', present: ofAll, feed: { ...JSON_FEED, ...OF_ALL } };
