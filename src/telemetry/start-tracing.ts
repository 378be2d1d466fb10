import type { Logger } from './logging.js';
import type { Tracing } from './tracing.js';

/**
 * Begins to send traces, as OpenTelemetry's standard variables say. Nothing of OpenTelemetry is loaded
 * before.
 *
 * @param log Takes what goes wrong with sending.
 */
export async function startTracing(log: Logger): Promise<Tracing> {
  const { openTelemetry } = await import('./open-telemetry.js');
  return openTelemetry(log);
}
