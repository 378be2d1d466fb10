import { atomOf, type Feed, feedOf } from '../../../notify/feeds.js';
import type { Body, Place } from './body.js';
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

// What `present` of the same body has made.
const textOfAtom = (value: object) => atomOf(value as Feed);
const ATOM = { name: 'AtomFeed', feed: { mediaType: 'application/atom+xml', textOf: textOfAtom } } as const;
const JSON_FEED = {
  name: 'JsonFeed',
  feed: { mediaType: 'application/feed+json', textOf: JSON.stringify },
} as const;

/** The changes of a domain, and of all domains, as feeds. */
export const DOMAIN_CHANGES_ATOM: Body = { ...ATOM, present: ofDomain };
export const DOMAIN_CHANGES_FEED: Body = { ...JSON_FEED, present: ofDomain };
export const CHANGES_ATOM: Body = { ...ATOM, present: ofAll };
export const CHANGES_FEED: Body = { ...JSON_FEED, present: ofAll };
