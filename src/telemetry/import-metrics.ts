import { Counter, type Registry } from 'prom-client';

/** How long, in milliseconds, a scrape waits for what the database has counted. */
const LONGEST_WAIT = 1000;

/**
 * Makes the counter of imports in a registry (once for each registry): `dms_import_lines_total{outcome}`.
 * Imports are processes of their own, so that the database keeps their counts.
 *
 * @param read Reads the counts by outcome. Where it fails or takes too long, the last ones stay.
 */
export function createImportMetrics(
  registry: Registry,
  read: () => Promise<ReadonlyMap<string, number>>,
): void {
  let counts: ReadonlyMap<string, number> = new Map();
  let reading: Promise<void> | null = null;
  const refresh = async () => {
    try {
      counts = await read();
    } catch {
      // That the database is away is told by the probe.
    } finally {
      reading = null;
    }
  };
  registry.registerMetric(
    new Counter({
      name: 'dms_import_lines_total',
      help: 'Lines of all imports into the database that have ended, by what became of them.',
      labelNames: ['outcome'],
      registers: [],
      async collect() {
        reading ??= refresh();
        await atMost(reading, LONGEST_WAIT);
        this.reset();
        for (const [outcome, lines] of counts) this.inc({ outcome }, lines);
      },
    }),
  );
}

async function atMost(work: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
