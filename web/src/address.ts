import { useLocation } from 'preact-iso';
import { basePath } from './api.js';

/** The parameters of an address, in the order in which they are written. */
export type Parameters = Readonly<Record<string, string | undefined>>;

/** An address of the page: a path of the service and what the view is. */
export function addressOf(path: string, parameters: Parameters = {}): string {
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  const query = new URLSearchParams(given).toString();
  return `${basePath}${path}${query === '' ? '' : `?${query}`}`;
}

/** The address of a domain's page. */
export function domainAddress(name: string, parameters: Parameters = {}): string {
  return addressOf(`/domains/${encodeURIComponent(name)}`, parameters);
}

/** The view that the address holds, and how to change it. */
export interface View {
  /** Without the base path. */
  readonly path: string;
  readonly parameters: Parameters;
  /**
   * Changes parameters of this page; undefined removes one. The step can be undone by the browser's back button unless
   * `replaces`.
   */
  change(parameters: Parameters, replaces?: boolean): void;
}

export function useView(): View {
  const { path, query, route } = useLocation();
  const own = path.slice(basePath.length) || '/';
  return {
    path: own,
    parameters: query,
    change(parameters, replaces = false) {
      // As the address is now: it may have changed since this was drawn.
      const now = Object.fromEntries(new URLSearchParams(location.search));
      const next = addressOf(own, { ...now, ...parameters });
      if (next !== location.pathname + location.search) route(next, replaces);
    },
  };
}
