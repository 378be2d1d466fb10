/** Octets that are no DNS message, or no rdata of their type. The message is the reason. */
export class MalformedMessageError extends Error {
  override readonly name = 'MalformedMessageError';
}
