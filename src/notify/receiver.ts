import type { Answer } from './delivery.js';
import type { Message } from './messages.js';
import type { Notification } from './notifications.js';

/** A message that is kept, and where it goes. */
export interface KeptMessage extends Pick<Notification, 'url' | 'secret'> {
  /** Always that of the same body. */
  readonly id: string;
  readonly body: string;
}

/** What the settings say of sending. */
export interface Sending {
  /** Whether receivers may be at addresses that are not public. */
  readonly allowPrivate: boolean;
  /** Undefined: no mail can be sent. */
  readonly smtp: SmtpServer | undefined;
}

/** Where mail is sent by, and from whom. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** Whether TLS begins with the connection; otherwise by STARTTLS, where the server has it. */
  readonly isSecure: boolean;
  /** Empty: none is needed. */
  readonly user: string;
  readonly password: string;
  readonly from: string;
}

/** A kind of receiver. */
export interface Receiver {
  bodyOf(message: Message): string;
  /** Sends it once; it never rejects. @param signal Ends it. */
  send(message: KeptMessage, sending: Sending, signal: AbortSignal): Promise<Answer>;
}
