import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { runDms } from './journeys/dms-command.js';
import { type LocalServing, serveLocally } from './journeys/serving.js';
import { newDataDirectory, removeDataDirectory } from './support/data-directory.js';
import { startDnsServer } from './support/dns-server.js';
import { copyTemplate } from './support/template.js';
import { startHttpsServer } from './support/web-server.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Whether there are the programs that the documents use beside the service's own. */
const HAS_TOOLS = ['curl', 'jq'].every((tool) => spawnSync(tool, ['--version']).status === 0);

/** What `npx dms` runs, in a shell. */
const PROGRAM = `'${process.execPath}' '${join(ROOT, 'bin', 'dms.js').replaceAll("'", "'\\''")}'`;

/** What `npm start` records in a new database. */
const SAMPLES = join(ROOT, 'samples', 'observations.ndjson');

/** In the order in which a new user reads them, on one service: what one records the next ones show. */
const DOCUMENTS = [
  'README.md',
  'docs/importing.md',
  'docs/observing.md',
  'docs/rest.md',
  'docs/questions.md',
  'docs/graphql.md',
  'docs/clients.md',
  'docs/limits.md',
  'docs/access.md',
  'docs/commands.md',
];

/** The domain example.com of the samples, with another address, the only one that is connected to. */
const ZONE = `
$ORIGIN example.com.
@ SOA  ns1.example.net. hostmaster 2023052001 7200 900 1209600 3600
@ A    127.0.0.1
@ NS   ns1.example.net.
@ NS   ns2.example.net.
@ MX   10 mail
@ MX   20 mail.example.net.
@ TXT  "v=spf1 mx include:_spf.example.net -all"
@ CAA  0 issue "ca.example.net"
`;

/** What the site of example.com sends; it differs from the samples in one header. */
const SITE = [
  ['Content-Type', 'text/html; charset=utf-8'],
  ['Server', 'nginx/1.26.0'],
  ['Strict-Transport-Security', 'max-age=63072000; includeSubDomains'],
] as const;

let folder: string;
let service: LocalServing;
let environment: Record<string, string>;

beforeAll(async () => {
  const [dataDirectory, dns, site] = await Promise.all([
    newDataDirectory(),
    startDnsServer({ zone: ZONE }),
    startHttpsServer(),
  ]);
  site.serve({ fields: SITE });
  folder = await mkdtemp(join(tmpdir(), 'dms-test-readme-'));
  environment = {
    DATA_DIR: dataDirectory,
    ROLE: 'api',
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    OBSERVE_PRIVATE: 'allow',
    OBSERVE_HTTPS_PORT: String(site.port),
  };
  await copyTemplate(dataDirectory);
  expect((await runDms(['import', SAMPLES], environment)).code).toBe(0);
  service = await serveLocally(environment);
  return async () => {
    await service.close();
    await Promise.all([dns.close(), site.close(), rm(folder, { recursive: true })]);
    await removeDataDirectory(dataDirectory);
  };
});

/** The parts of a document between fences, each with what stands between it and the one before. */
async function blocksOf(path: string) {
  const text = await readFile(join(ROOT, path), 'utf8');
  const blocks = text.matchAll(/(.*?)^```(.*?)\n(.*?)^```\n/gms);
  return Array.from(blocks, ([, before = '', language, content = '']) => ({ before, language, content }));
}

/** Lines that are nothing but commands of the program run in the process of the test, in a tenth of the time. */
const PLAIN_COMMANDS = /^(?:npx dms [\w .:/-]+\n)+$/;

/** Runs commands as a user in a folder of their own, and gives what they print. */
function run(commands: string): Promise<string> {
  return PLAIN_COMMANDS.test(commands) ? runPlain(commands) : runInShell(commands);
}

async function runPlain(commands: string): Promise<string> {
  let output = '';
  for (const line of commands.trim().split('\n')) {
    const [, , ...args] = line.split(' ');
    const inFolder = args.map((arg) => (existsSync(join(folder, arg)) ? join(folder, arg) : arg));
    const { code, stdout, stderr } = await runDms(inFolder, environment);
    expect(code, stderr).toBe(0);
    output += stdout;
  }
  return output;
}

async function runInShell(commands: string): Promise<string> {
  const script = commands
    .replaceAll('http://127.0.0.1:4000', service.url)
    .replaceAll('npx dms', () => PROGRAM);
  const { DATABASE_URL: _, ...inherited } = process.env;
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(await ended, stderr).toEqual([0, null]);
  return stdout;
}

/** The expression for what a block shows: `…` in the place of a line is any number of lines. */
function shown(content: string, normalize: (part: string) => string): RegExp {
  const escaped = (part: string) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const parts = content.split(/^\s*…$/m).map((part) => escaped(normalize(part)));
  return new RegExp(`^${parts.join('[^]*')}$`);
}

const withoutSpace = (content: string) => content.replace(/\s/g, '');

/** Output as the documents have it: CR LF of CSV, and what differs from run to run, the time of now, and the site's address. */
function asDocumented(output: string): string {
  return output
    .replaceAll('\r\n', '\n')
    .replace(/\b20(2[6-9]|[3-9]\d)-\d\d-\d\dT[\d:.]+Z/g, '2024-03-01T10:20:30.123456Z')
    .replaceAll('127.0.0.1', '192.0.2.8');
}

test('npx dms in the folder of the project is the program', async () => {
  const child = spawn('npx', ['dms', '--version'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
  expect(await text(child.stdout)).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.skipIf(!HAS_TOOLS).each(DOCUMENTS)(
  'the commands of %s work as written, and print what it shows',
  async (path) => {
    const blocks = await blocksOf(path);
    for (const [at, { language, content, before }] of blocks.entries()) {
      const file = /as `([\w.]+)`:\s*$/.exec(before)?.[1];
      if (file !== undefined) await writeFile(join(folder, file), content);
      if (language !== 'sh' || /^npm /.test(content)) continue;
      const output = await run(content);
      const next = blocks[at + 1];
      if (next === undefined || next.before.trim() !== '' || next.language === 'sh') continue;
      if (next.language === 'json') {
        expect(withoutSpace(output)).toMatch(shown(next.content, withoutSpace));
      } else {
        expect(asDocumented(output.trim())).toMatch(shown(next.content.trim(), (part) => part));
      }
    }
  },
);
