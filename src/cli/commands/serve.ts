import { setFlagsFromString } from 'node:v8';
import type { Application } from '../../application.js';
import { ALL_ADDRESSES } from '../../config/parse-telemetry.js';
import type { Settings } from '../../config/settings.js';
import type { CommandContext } from '../command-context.js';
import { watchedText } from './watch-text.js';

/**
 * How far V8 lets the heap grow between two collections, in percent of what is alive; by default, up to four times as
 * far. A fifth of that takes 100 MB off a busy server and costs little; less would cost 15 % of processor time (bench/README.md).
 */
const HEAP_GROWTH = '--heap-growing-percent=80';

/** `dms serve`: serves the API until a signal stops it. */
export async function runServe(context: CommandContext): Promise<void> {
  const settings = context.settings();
  const stopRequested = context.stopRequested();
  setFlagsFromString(HEAP_GROWTH);
  // Only now: loading the server takes a second, and an invalid setting is reported before.
  const { startApplication } = await import('../../application.js');
  const { migrateShowing } = await import('../open-database.js');
  const application = await startApplication(settings, {
    migrate: (pool) => migrateShowing(context.notes, pool),
  });
  await context.sumUp(welcome(application, settings));
  await stopRequested;
  context.notes.write('Stopping: requests in progress are completed first.\n');
  await application.stop();
}

const TOKEN_OPTION = "-H 'authorization: Bearer <token>' ";

function welcome(application: Application, { host, auth }: Settings): string {
  const { url, metricsUrl, databasePlace, sandbox, sampleDomains, exampleDomain, watchedDomains } =
    application;
  const rest = `${url}/api/v1/domain/${exampleDomain ?? '{domain}'}`;
  const graphql = sandbox ? 'in a browser: Apollo Sandbox' : 'the operations of PERSISTED_ONLY only';
  const example = `Try:      curl ${auth.required === 'all' ? TOKEN_OPTION : ''}${rest}`;
  const lines = [
    sampleDomains > 0 && `Recorded ${sampleDomains} sample domains (SAMPLES=off starts empty).`,
    `Serving at ${url}/`,
    ALL_ADDRESSES.includes(host) && `          and at every other address of this machine (HOST=${host})`,
    `GraphQL:  ${url}/graphql (${graphql})`,
    sandbox && `          ${url}/graphiql (GraphiQL, which needs no internet)`,
    `REST:     ${rest}`,
    `          ${url}/api/v1/docs (documentation)`,
    `Database: ${databasePlace}`,
    watchedDomains !== null && `Observes: ${watchedText(watchedDomains)}`,
    metricsUrl !== null && `Metrics:  ${metricsUrl}/metrics`,
    exampleDomain === null ? 'Nothing is recorded yet: dms import FILE records.' : example,
    'Stop with Ctrl-C.',
  ];
  return lines
    .filter((line) => line !== false)
    .map((line) => `${line}\n`)
    .join('');
}
