import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { TEST_CERTIFICATE, TEST_KEY } from './web-certificate.js';

const PROGRAMS = ['nsd', 'unbound', 'nginx', 'dig'] as const;

/** Debian has servers where only an administrator's PATH looks. */
export const PATH = `${process.env['PATH']}:/usr/sbin`;

/** Whether the machine has the name servers, the web server and the DNS client of Debian. */
export const HAS_DEBIAN_SERVERS = PROGRAMS.every(isInstalled);

/** Whether the machine has a program, for users or administrators. */
export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH } }).status === 0;
}

/** An authoritative server (nsd), a resolver that asks it (unbound) and a web server (nginx), on loopback. */
export interface DebianServers {
  /** Of nsd. */
  readonly serverPort: number;
  readonly resolverPort: number;
  readonly sitePort: number;
  /** Nobody listens there while the site has no TLS. */
  readonly tlsPort: number;
  /** Replaces the zone example.test, in master-file form. */
  setZone(text: string): void;
  /** Replaces what nginx says at `/`: directives of its configuration, and others over TLS, if any. */
  setSite(directives: string, overTls?: string): void;
  close(): Promise<void>;
}

/** Starts the three; their files are in a temporary folder, which goes with them. */
export async function startDebianServers(
  zone: string,
  site: string,
  siteOverTls?: string,
): Promise<DebianServers> {
  const folder = mkdtempSync(join(tmpdir(), 'dms-debian-'));
  const [nsdPort, resolverPort] = [await freePort(), await freePort()];
  const [sitePort, tlsPort] = [await freePort(), await freePort()];
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const writeSite = (directives: string, overTls: string | undefined) => {
    const servers = [serverOf(`127.0.0.1:${sitePort}`, directives)];
    if (overTls !== undefined) servers.push(serverOf(`127.0.0.1:${tlsPort} ssl`, overTls));
    write('nginx.conf', nginxConfiguration(folder, servers));
  };
  write('zone', zone);
  write('certificate.pem', TEST_CERTIFICATE);
  write('key.pem', TEST_KEY);
  writeSite(site, siteOverTls);
  const nsd = start('nsd', ['-d', '-c', write('nsd.conf', nsdConfiguration(folder, nsdPort))]);
  const unbound = start('unbound', [
    '-d',
    '-c',
    write('unbound.conf', unboundConfiguration(folder, resolverPort, nsdPort)),
  ]);
  const nginx = start('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', 'daemon off;']);
  return {
    serverPort: nsdPort,
    resolverPort,
    sitePort,
    tlsPort,
    setZone(text) {
      write('zone', text);
      nsd.kill('SIGHUP');
    },
    setSite(directives, overTls) {
      writeSite(directives, overTls);
      nginx.kill('SIGHUP');
    },
    async close() {
      await Promise.all([nsd, unbound, nginx].map(end));
      rmSync(folder, { recursive: true });
    },
  };
}

function start(program: string, args: readonly string[]): ChildProcess {
  return spawn(program, args, { env: { PATH }, stdio: 'ignore' });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

function nsdConfiguration(folder: string, port: number): string {
  return `
server:
  ip-address: 127.0.0.1@${port}
  username: ""
  zonesdir: "${folder}"
  zonelistfile: "${folder}/nsd.zones"
  xfrdfile: "${folder}/nsd.xfrd"
  pidfile: "${folder}/nsd.pid"
  database: ""
  server-count: 1
remote-control:
  control-enable: no
zone:
  name: example.test
  zonefile: "${folder}/zone"
`;
}

/** Whatever it is asked, it asks nsd and nobody else, and keeps no answer. */
function unboundConfiguration(folder: string, port: number, nsdPort: number): string {
  return `
server:
  interface: 127.0.0.1@${port}
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: "${folder}/unbound.pid"
  use-syslog: no
  do-ip6: no
  do-not-query-localhost: no
  module-config: "iterator"
  local-zone: "test." nodefault
  cache-max-ttl: 0
  cache-max-negative-ttl: 0
  num-threads: 1
remote-control:
  control-enable: no
stub-zone:
  name: "example.test"
  stub-addr: 127.0.0.1@${nsdPort}
stub-zone:
  name: "."
  stub-addr: 127.0.0.1@${nsdPort}
`;
}

function serverOf(listen: string, directives: string): string {
  return `server { listen ${listen}; location / { ${directives} } }`;
}

function nginxConfiguration(folder: string, servers: readonly string[]): string {
  return `
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
worker_processes 1;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  ssl_certificate ${folder}/certificate.pem;
  ssl_certificate_key ${folder}/key.pem;
  ${servers.join('\n  ')}
}
`;
}
