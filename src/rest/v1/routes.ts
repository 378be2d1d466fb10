import type { Scope } from '../../auth/viewer.js';
import { type Presenter, presentAsSelected, presentDnsInfo, presentHistory } from './presenters/domain.js';

/** One operation of REST v1. */
export interface Route {
  /** As the specification calls it (section 4). */
  readonly name: string;
  /** After `/api/v1`. */
  readonly path: string;
  /** The stored GraphQL operation: a file of operations/. */
  readonly operation: string;
  readonly present: Presenter;
  /** What a client must be allowed to do; null: nothing. */
  readonly scope: Scope | null;
  /** How settled the body is (specification, 9). */
  readonly maturity: 'Testing' | 'Developing';
}

/** All that REST v1 answers. */
export const ROUTES: readonly Route[] = [
  {
    name: 'Get domain',
    path: '/domain/{domain}',
    operation: 'get-domain.graphql',
    present: presentHistory,
    scope: null,
    maturity: 'Testing',
  },
  {
    name: 'Domain DNS info',
    path: '/domain/{domain}/dns',
    operation: 'domain-dns-info.graphql',
    present: presentDnsInfo,
    scope: 'dns:read',
    maturity: 'Developing',
  },
  {
    name: 'Domain details',
    path: '/domain/{domain}/details',
    operation: 'domain-details.graphql',
    present: presentAsSelected,
    scope: 'details:read',
    maturity: 'Developing',
  },
  {
    name: 'Domain HTTP headers',
    path: '/domain/{domain}/headers',
    operation: 'domain-http-headers.graphql',
    present: presentAsSelected,
    scope: 'headers:read',
    maturity: 'Developing',
  },
];
