import type { Scope } from '../../auth/viewer.js';
import type { Deprecation } from './deprecation.js';
import type { BodySchemaName } from './openapi/body-schemas.js';
import { type Presenter, presentAsSelected, presentDnsInfo, presentHistory } from './presenters/domain.js';

/** One operation of REST v1. */
export interface Route {
  /** As the specification calls it (section 4). */
  readonly name: string;
  /** Its name for programs; it never changes. */
  readonly operationId: string;
  /** What it answers, for people. */
  readonly description: string;
  /** The schema of its body: a name of openapi/body-schemas.ts. */
  readonly body: BodySchemaName;
  /** After `/api/v1`. */
  readonly path: string;
  /** The stored GraphQL operation: a file of operations/. */
  readonly operation: string;
  readonly present: Presenter;
  /** What a client must be allowed to do; null: nothing. */
  readonly scope: Scope | null;
  /** How settled the body is (specification, 9). */
  readonly maturity: 'Testing' | 'Developing';
  /** Since when it is not to be used any more; absent: it may be used. */
  readonly deprecation?: Deprecation;
}

/** All that REST v1 answers. */
export const ROUTES: readonly Route[] = [
  {
    name: 'Get domain',
    operationId: 'getDomain',
    description: 'The DNS records and the HTTP response headers of a domain, with their history.',
    body: 'DomainHistory',
    path: '/domain/{domain}',
    operation: 'get-domain.graphql',
    present: presentHistory,
    scope: null,
    maturity: 'Testing',
  },
  {
    name: 'Domain DNS info',
    operationId: 'getDomainDnsInfo',
    description: 'The DNS records of a domain, with their history.',
    body: 'DomainDnsInfo',
    path: '/domain/{domain}/dns',
    operation: 'domain-dns-info.graphql',
    present: presentDnsInfo,
    scope: 'dns:read',
    maturity: 'Developing',
  },
  {
    name: 'Domain details',
    operationId: 'getDomainDetails',
    description: 'The names, times and counts of a domain.',
    body: 'DomainDetails',
    path: '/domain/{domain}/details',
    operation: 'domain-details.graphql',
    present: presentAsSelected,
    scope: 'details:read',
    maturity: 'Developing',
  },
  {
    name: 'Domain HTTP headers',
    operationId: 'getDomainHttpHeaders',
    description: 'The HTTP response headers of a domain, with their history.',
    body: 'DomainHttpHeaders',
    path: '/domain/{domain}/headers',
    operation: 'domain-http-headers.graphql',
    present: presentAsSelected,
    scope: 'headers:read',
    maturity: 'Developing',
  },
];
