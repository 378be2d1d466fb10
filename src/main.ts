import type { StopSignal } from './cli/command-context.js';
import { runCommand } from './cli/main.js';
import { loadEnvironmentFile, readSettings } from './config/env.js';

// Whoever writes results waits, and reports the error; that of standard error cannot be reported.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

// Node.js 20 has no `navigator`. Without it, pg loads all of fetch() to find out that this is not Cloudflare.
if (!('navigator' in globalThis))
  Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'Node.js' } });

/** In milliseconds, how long a signal repeats the first: `npm start` forwards what a terminal sends to all. */
const SAME_SIGNAL = 1000;

let stopped = false;

await runCommand(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  settings() {
    loadEnvironmentFile();
    return readSettings();
  },
  setExitCode(code) {
    process.exitCode = code;
  },
  stopRequested,
});
// The reader of a pipe may never take what is left.
if (stopped && process.stdout.writableLength > 0) process.exit();

/** The first signal stops the command; a later one terminates the process at once. */
function stopRequested(): Promise<StopSignal> {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  return new Promise((resolve) => {
    const stop = (name: StopSignal) => {
      stopped = true;
      resolve(name);
      setTimeout(() => {
        for (const signal of signals) process.off(signal, stop);
      }, SAME_SIGNAL).unref();
    };
    for (const signal of signals) process.on(signal, stop);
  });
}
