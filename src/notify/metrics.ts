import { Counter, Gauge, type Registry } from 'prom-client';
import type { Instant } from '../model/instant.js';
import type { Delivery } from './delivery.js';
import type { Notification } from './notifications.js';

/** Once for each registry. */
export function createNotificationMetrics(registry: Registry) {
  const registers = [registry];
  const attempts = new Counter({
    name: 'dms_notification_attempts_total',
    help: 'Attempts to send a message, by what became of it.',
    labelNames: ['notification', 'outcome'],
    registers,
  });
  // All processes read the same.
  const ofEach = { labelNames: ['notification'], aggregator: 'max', registers } as const;
  const lag = new Gauge({
    name: 'dms_notification_lag_seconds',
    help: 'For how long a message has not been received; 0: there is none.',
    ...ofEach,
  });
  const paused = new Gauge({
    name: 'dms_notification_paused',
    help: 'Whether a notification is paused: 1, or 0.',
    ...ofEach,
  });
  return {
    attempted: (notification: string, outcome: Delivery['outcome']) =>
      attempts.inc({ notification, outcome }),
    looked(notifications: readonly Pick<Notification, 'name' | 'paused' | 'keptAt'>[], now: Instant): void {
      lag.reset();
      paused.reset();
      for (const { name: notification, keptAt, paused: reason } of notifications) {
        lag.set({ notification }, keptAt === null ? 0 : Number(now - keptAt) / 1e6);
        paused.set({ notification }, reason === null ? 0 : 1);
      }
    },
  };
}
