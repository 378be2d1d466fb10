import { pathOf } from '../model/request-target.js';
import type { Logger } from '../telemetry/logging.js';
import type { Endpoint, TextResponse } from './endpoint.js';

/** Why a running process should get no requests; null: it is ready. */
type Unreadiness = {
  readonly reason: string;
  /** For the log alone. */
  readonly cause?: string | undefined;
} | null;

/** A database that the process depends on, as `/readyz` shows it. */
interface DatabaseHealth {
  readonly role: string;
  /** Why it is left out; null: it is in use. */
  readonly reason: string | null;
  /** How far it is behind the primary, in milliseconds; null: not known. */
  readonly lag: number | null;
}

/** A resolver that the process observes with. */
interface ResolverHealth {
  /** The addresses that it gives for names that do not exist; empty: none. */
  readonly invented: readonly string[];
}

/** What `/readyz` shows besides; absent: nothing. */
interface ShownHealth {
  readonly databases?: readonly DatabaseHealth[] | undefined;
  readonly resolvers?: readonly ResolverHealth[] | undefined;
}

const STOPPING: Unreadiness = { reason: 'The service is stopping.' };

/**
 * Creates the probes: `/livez` succeeds while the process is up, `/readyz` while what it depends on is available. They
 * are at the root, whatever the base path: they are not requested through the proxy.
 *
 * @param check What the process depends on, within a short time.
 * @param log Gets changes of the state, and not each probe.
 */
export function createHealth(
  check: () => Promise<Unreadiness>,
  log: Logger,
  shows: () => ShownHealth = () => ({}),
) {
  let stopping = false;
  let logged = JSON.stringify(null);
  const readiness = async (): Promise<TextResponse> => {
    if (stopping) return answerOf(STOPPING);
    const unreadiness = await check();
    const state = JSON.stringify(unreadiness);
    if (state !== logged && unreadiness === null) log.info('ready again');
    else if (state !== logged) log.warn(unreadiness, 'not ready');
    logged = state;
    return answerOf(stopping ? STOPPING : unreadiness, shown(shows()));
  };
  const endpoint: Endpoint = (request) => {
    const path = pathOf(request);
    if (path === '/livez') return Promise.resolve(answerOf(null));
    return path === '/readyz' ? readiness() : undefined;
  };
  return {
    endpoint,
    /** Makes the process not ready: it is stopping. */
    stopping() {
      stopping = true;
    },
  };
}

const INVENTING =
  'It gives addresses for names that do not exist. They are not recorded: name another resolver in DNS_SERVERS.';

/** Without places, in the order of the settings: anyone may ask. Resolvers are shown while one of them invents addresses. */
function shown({ databases, resolvers = [] }: ShownHealth): object {
  return {
    databases: databases?.map(({ role, reason, lag }) => {
      return { role, state: reason === null ? 'in use' : 'left out', reason, lag: lag && lag / 1000 };
    }),
    resolvers: resolvers.some(isInventing)
      ? resolvers.map((resolver) =>
          isInventing(resolver)
            ? { state: 'invents addresses', reason: INVENTING }
            : { state: 'in use', reason: null },
        )
      : undefined,
  };
}

function isInventing({ invented }: ResolverHealth): boolean {
  return invented.length > 0;
}

/** @param details What is shown besides. */
function answerOf(unreadiness: Unreadiness, details: object = {}): TextResponse {
  if (unreadiness === null) return { status: 200, text: `${JSON.stringify({ status: 'ok', ...details })}\n` };
  const body = { status: 'unavailable', reason: unreadiness.reason, ...details };
  return { status: 503, headers: { 'retry-after': '5' }, text: `${JSON.stringify(body)}\n` };
}
