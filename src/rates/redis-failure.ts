/** What can be done where Redis answers with an error, by its code. */
const ADVICE_OF_CODE: Readonly<Record<string, string>> = {
  NOAUTH: 'Redis wants a password: write it in REDIS_URL, as in redis://user:password@host:6379',
  WRONGPASS: 'Redis does not know the user and the password in REDIS_URL: write others',
  NOPERM: 'Redis forbids its user in REDIS_URL what counting needs: allow it, or write another',
  READONLY:
    'this Redis is a replica, where nothing is counted: write the address of its primary in REDIS_URL',
  MOVED:
    'this Redis is part of a cluster, where nothing is counted: write the address of another in REDIS_URL',
};

const NO_DATABASE =
  'Redis does not have the database in REDIS_URL: write another number at its end, such as /1, or none';

/**
 * Why Redis cannot be used, and what to write in REDIS_URL where that is the reason. It holds no text of Redis,
 * which may repeat what it was sent, but words of our own, a code, or the words of Node.js, which name the address
 * without user and password.
 *
 * @param error What the client has thrown; undefined: the connection was closed.
 * @param connection Whether it is by TLS, and whether there was ever one that could be used.
 */
export function reasonOf(
  error: unknown,
  { byTls, wasReady }: { readonly byTls: boolean; readonly wasReady: boolean },
): string {
  const closed = !(error instanceof Error) || isClosing(error);
  if (byTls && (isOfTls(error) || (closed && !wasReady))) {
    return `no TLS connection comes about (${codeOf(error)}): if Redis wants none, write redis:// in REDIS_URL`;
  }
  if (closed) {
    const advice = wasReady ? '' : ': if Redis wants TLS, write rediss:// in REDIS_URL';
    return `the connection was closed${advice}`;
  }
  if (error.name === 'ReplyError') return reasonOfReply(error);
  if (error.name === 'ParserError') {
    const advice = byTls ? '' : ', and rediss:// if it wants TLS';
    return `what answers is no Redis: write another host or port in REDIS_URL${advice}`;
  }
  return isTimeout(error) ? 'Redis does not answer in time' : error.message;
}

/** Whether Redis has left a question without an answer. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Command timed out';
}

/** Whether Redis has refused the database that is to be used: the connection is one to another database then. */
export function isOfAnotherDatabase(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'ReplyError' || !('command' in error)) return false;
  const { command } = error;
  return typeof command === 'object' && command !== null && 'name' in command && command.name === 'select';
}

function reasonOfReply(error: Error): string {
  const code = /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
  const advice = ADVICE_OF_CODE[code] ?? (isOfAnotherDatabase(error) ? NO_DATABASE : undefined);
  return advice ?? `Redis answers with an error: ${code}`;
}

/** What speaks no TLS waits for more, or answers something else. */
function isOfTls(error: unknown): boolean {
  return codeOf(error) === 'ETIMEDOUT' || codeOf(error).startsWith('ERR_SSL_');
}

/** In the words of Node.js, or of the client, which has something to send then. */
function isClosing(error: Error): boolean {
  return ['EPIPE', 'ECONNRESET'].includes(codeOf(error)) || /^Stream isn't writeable/.test(error.message);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'closed';
}
