import { startMonitoring } from '../../monitoring.js';
import { countWatched } from '../../observer/schedule/watch-list.js';
import { startObserving } from '../../observing.js';
import { createLogger } from '../../telemetry/logging.js';
import { type CommandContext, now } from '../command-context.js';
import { watchedText } from './watch.js';

export async function runWorker(context: CommandContext): Promise<void> {
  const settings = context.settings();
  const stopRequested = context.stopRequested();
  await context.withDatabase('create', async (database) => {
    const log = createLogger({ level: settings.logLevel, secrets: settings.secrets });
    const monitoring = await startMonitoring(settings, database, log);
    try {
      const stopObserving = startObserving(settings, database, log, now, monitoring);
      if (monitoring.metricsUrl !== null) context.note(`Metrics: ${monitoring.metricsUrl}/metrics\n`);
      const watched = watchedText(await countWatched(database.writingPrisma));
      context.note(`Observing ${watched} of ${database.place}. Stop with Ctrl-C.\n`);
      await stopRequested;
      context.note('Stopping: observations in progress are completed first.\n');
      monitoring.stopping();
      await stopObserving();
    } finally {
      await monitoring.stop();
    }
  });
}
