import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { endChild, isInstalled, PATH } from './processes.js';
import { TEST_CERTIFICATE, TEST_KEY } from './web-certificate.js';

export const HAS_DEBIAN_SERVERS = ['nsd', 'unbound', 'nginx', 'dig'].every(isInstalled);

export type DebianServers = Awaited<ReturnType<typeof startDebianServers>>;

/** Starts an authoritative server (nsd), a resolver that asks it (unbound) and a web server (nginx), on loopback. */
export async function startDebianServers(zone: string, site: string, siteOverTls?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'dms-debian-'));
  const [nsdPort, resolverPort] = [await freePort(), await freePort()];
  const [sitePort, tlsPort] = [await freePort(), await freePort()];
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const start = (program: string, ...args: readonly string[]) =>
    spawn(program, args, { env: { PATH }, stdio: 'ignore' });
  const writeSite = (directives: string, overTls: string | undefined) => {
    const servers = [`server { listen 127.0.0.1:${sitePort}; location / { ${directives} } }`];
    if (overTls !== undefined) {
      servers.push(`server { listen 127.0.0.1:${tlsPort} ssl; location / { ${overTls} } }`);
    }
    return write('nginx.conf', nginxConfiguration(folder, servers));
  };
  write('zone', zone);
  write('certificate.pem', TEST_CERTIFICATE);
  write('key.pem', TEST_KEY);
  const nsd = start('nsd', '-d', '-c', write('nsd.conf', nsdConfiguration(folder, nsdPort)));
  const resolver = write('unbound.conf', unboundConfiguration(folder, resolverPort, nsdPort));
  const unbound = start('unbound', '-d', '-c', resolver);
  const nginx = start('nginx', '-p', folder, '-c', writeSite(site, siteOverTls), '-g', 'daemon off;');
  return {
    serverPort: nsdPort,
    resolverPort,
    sitePort,
    /** Nobody listens there while the site has no TLS. */
    tlsPort,
    /** Replaces what nginx says at `/`: directives of its configuration, and others over TLS, if any. */
    setSite(directives: string, overTls?: string) {
      writeSite(directives, overTls);
      nginx.kill('SIGHUP');
    },
    async close() {
      await Promise.all([nsd, unbound, nginx].map((child) => endChild(child, 'SIGTERM')));
      rmSync(folder, { recursive: true });
    },
  };
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

function nginxConfiguration(folder: string, servers: readonly string[]): string {
  return `
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
worker_processes 1;
events { worker_connections 256; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`).join(' ')}
  ssl_certificate ${folder}/certificate.pem;
  ssl_certificate_key ${folder}/key.pem;
  ${servers.join('\n  ')}
}
`;
}
