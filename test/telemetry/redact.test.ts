import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/telemetry/logging.js';
import { redactorOf, redactSecrets } from '../../src/telemetry/redact.js';

const TOKEN = `dms_${'Ab3_-'.repeat(9).slice(0, 43)}`;
const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLW9mLWl0';

test.each([
  `/api/v1/domain/${TOKEN}`,
  `{"authorization":"Bearer ${TOKEN}"}`,
  `Bearer ${JWT}`,
  `/x?access_token=hunter2&a=b`,
  `/x?a=b&refresh_token%3Dhunter2`,
  'password=hunter2 host=db',
  'postgresql://dms:hunter2@db.example:5432/dms',
  'connect to redis://:hunter2@127.0.0.1 failed',
  'connect to redis://user:hunter2@127.0.0.1 failed',
  '{"cookie":"session=hunter2; theme=dark"}',
  '{"set-cookie":["a=hunter2","b=hunter2"]}',
  '{"password":"hunter2"}',
  '{"apiKey":"a \\"quoted\\" hunter2"}',
  '{"x-api-key":"hunter2"}',
  '{"body":"{\\"client_secret\\":\\"hunter2\\"}"}',
  'Authorization: Basic ZG1zOmh1bnRlcjI=',
])('what looks like a secret is left out: %s', (text) => {
  expect(redactSecrets(text)).not.toMatch(/hunter2|ZG1zOmh1|eyJ|Ab3_-Ab3/);
  expect(redactSecrets(text)).toContain('[redacted]');
});

test.each([
  '{"level":"info","path":"/api/v1/domain/example.com","status":200,"msg":"request"}',
  '{"msg":"observed","domain":"token.example","http":{"scheme":"https","address":"2001:db8::1"}}',
  'http://127.0.0.1:4000/graphql',
  'write redis://user:password@host:6379, or rediss://… for TLS',
  'write it like postgresql://user:password@host:5432/database, …',
])('what looks like no secret is not left out: %s', (text) => {
  expect(redactSecrets(text)).toBe(text);
});

test('a secret of the process is left out wherever it stands, as it is, percent-encoded, and in JSON', () => {
  const secret = fc.string({ minLength: 8, maxLength: 30, unit: 'grapheme-ascii' });
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (password, before, after) => {
      const redact = redactorOf([password]);
      for (const form of [password, encodeURIComponent(password), JSON.stringify(password).slice(1, -1)]) {
        expect(redact(`${before} ${form} ${after}`)).not.toContain(` ${form} `);
      }
    }),
  );
});

test('a line of the log stays JSON, whatever is left out of it', () => {
  const marks = ['token=', 'x', '"', '\\', '":"', 'password', '{"cookie":"', '://', '@', ' '];
  const part = fc.constantFrom(...marks, TOKEN, JWT);
  const value = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.dictionary(value, fc.oneof(value, fc.array(value))), value, (object, message) => {
      const lines: string[] = [];
      createLogger({ level: 'info', stream: { write: (line) => lines.push(line) } }).info(
        { object },
        message,
      );
      expect(lines).toHaveLength(1);
      expect(() => JSON.parse(lines[0] ?? '')).not.toThrow();
      expect(lines[0]).not.toContain(TOKEN);
    }),
  );
});
