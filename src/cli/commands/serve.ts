import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import type { Application } from '../../application.js';
import { ALL_ADDRESSES, type Settings } from '../../config/settings.js';
import { isLoopback } from '../../model/ip-address.js';
import type { CommandContext } from '../command-context.js';
import { watchedText } from './watch.js';

/**
 * How far V8 lets the heap grow between two collections, in percent of what is alive; by default, up to four
 * times as far. A fifth of that takes 100 MB off a busy server and costs little; less would cost 15 % of
 * processor time (bench/README.md).
 */
const HEAP_GROWTH = '--heap-growing-percent=80';

export async function runServe(context: CommandContext, { workers }: { workers: number }): Promise<void> {
  const settings = context.settings();
  const stopRequested = context.stopRequested();
  const openness = cluster.isPrimary ? opennessOf(settings) : null;
  if (openness !== null) context.warn(`WARNING: ${openness}`);
  if (workers > 1 && cluster.isPrimary) return serveByOthers(context, settings, stopRequested, workers);
  const member = workers > 1 ? (await import('../../cluster/member.js')).joinCluster() : undefined;
  try {
    setFlagsFromString(HEAP_GROWTH);
    // Only now: loading the server takes a second, and an invalid setting is reported before.
    const { startApplication } = await import('../../application.js');
    const application = await startApplication(settings, member && { cluster: member });
    const text = welcome(application, settings, workers);
    await (member === undefined ? context.sumUp(text) : member.serving(text));
    await stopRequested;
    if (member === undefined) context.note(STOPPING);
    await application.stop();
  } finally {
    member?.leave();
  }
}

/** In the first of several processes. */
async function serveByOthers(
  context: CommandContext,
  settings: Settings,
  stopRequested: Promise<unknown>,
  workers: number,
): Promise<void> {
  const { FirstProcess, ProcessEndedError } = await import('../../cluster/first-process.js');
  const { createLogger } = await import('../../telemetry/logging.js');
  const first = new FirstProcess(createLogger({ level: settings.logLevel, secrets: settings.secrets }));
  const started = first.start(workers).then((text) => context.sumUp(text));
  try {
    await Promise.race([started, stopRequested]);
    await stopRequested;
    context.note(STOPPING);
    if (!(await first.stop(settings.shutdownTimeout))) context.setExitCode(context.failure.code);
  } catch (error) {
    await first.stop(settings.shutdownTimeout);
    // The process that has failed has printed why.
    if (!(error instanceof ProcessEndedError) || error.code === null) throw error;
    context.setExitCode(error.code);
  }
}

/** A sentence with what to do; null: other machines can read nothing without a token. */
export function opennessOf({ host, auth }: Settings): string | null {
  if (auth.required === 'all' || isLoopback(host)) return null;
  return `everyone who can reach this service can read all that is recorded, without a token: HOST is ${host}, and AUTH_REQUIRED is not all. Set AUTH_REQUIRED=all, or let only a proxy with access control reach it.`;
}

const STOPPING = 'Stopping: requests in progress are completed first.\n';

function welcome(application: Application, { host, auth }: Settings, workers: number): string {
  const { url, metricsUrl, sandbox, sampleDomains, exampleDomain, watchedDomains } = application;
  const rest = `${url}/api/v1/domain/${exampleDomain ?? '{domain}'}`;
  const graphql = sandbox ? 'in a browser: Apollo Sandbox' : 'the operations of PERSISTED_ONLY only';
  const token = auth.required === 'all' ? "-H 'authorization: Bearer <token>' " : '';
  const lines = [
    sampleDomains > 0 && `Recorded ${sampleDomains} sample domains (SAMPLES=off starts empty).`,
    `Serving at ${url}/`,
    ALL_ADDRESSES.includes(host) && `          and at every other address of this machine (HOST=${host})`,
    `GraphQL:  ${url}/graphql (${graphql})`,
    sandbox && `          ${url}/graphiql (GraphiQL, which needs no internet)`,
    `REST:     ${rest}`,
    `          ${url}/api/v1/docs (documentation)`,
    `Database: ${application.databasePlace}`,
    workers > 1 && `Workers:  ${workers} processes`,
    watchedDomains !== null && `Observes: ${watchedText(watchedDomains)}`,
    metricsUrl !== null && `Metrics:  ${metricsUrl}/metrics`,
    exampleDomain === null
      ? 'Nothing is recorded yet: dms import FILE records.'
      : `Try:      curl ${token}${rest}`,
    'Stop with Ctrl-C.\n',
  ];
  return lines.filter((line) => line !== false).join('\n');
}
