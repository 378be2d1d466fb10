/** What an owner's process says, once, to the process that started it. */
export type OwnerReport =
  /** It has the database open; `created`: it has made it. */
  | { readonly state: 'ready'; readonly created: boolean }
  /** Another process has it, or was faster. */
  | { readonly state: 'not needed' }
  /** It cannot open it; `message` is one line for the user. */
  | { readonly state: 'failed'; readonly message: string };

/** Whether a message of another process is a report. */
export function isOwnerReport(message: unknown): message is OwnerReport {
  if (typeof message !== 'object' || message === null || !('state' in message)) return false;
  switch (message.state) {
    case 'ready':
      return 'created' in message && typeof message.created === 'boolean';
    case 'failed':
      return 'message' in message && typeof message.message === 'string';
    default:
      return message.state === 'not needed';
  }
}
