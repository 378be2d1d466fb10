import type { CommandContext } from './command-context.js';

/** Aborted when somebody asks the process to end. */
export function stopSignal(context: CommandContext): AbortSignal {
  const controller = new AbortController();
  void context.stopRequested().then(() => controller.abort());
  return controller.signal;
}
