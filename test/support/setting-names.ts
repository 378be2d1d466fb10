import { readSettings } from '../../src/config/env.js';

/** The names of all settings that the program reads, `OTEL_…` and `PG…` among them. */
export function settingNames(): ReadonlySet<string> {
  const names = new Set<string>();
  readSettings(new Proxy({}, { get: (_, name) => void names.add(String(name)) }));
  return names;
}
