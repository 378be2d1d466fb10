import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { REJECTING_PORT, startHttpServer, type WebServer } from '../support/web-server.js';

/** Domains that are another at every look: each look is an observation that changes both parts. */
export interface ChangingSites {
  /** The settings with which a worker observes them. */
  readonly environment: Readonly<Record<string, string>>;
  /** How often each site was requested: the values of its header `server` are `look 1` to `look N`. */
  looksAt(domain: string): number;
  close(): Promise<void>;
}

/** Starts the name server and the web server of all domains, on loopback. */
export async function startChangingSites(): Promise<ChangingSites> {
  const dns: DnsTestServer = await startDnsServer();
  const site: WebServer = await startHttpServer();
  const looks = new Map<string, number>();
  dns.generate((name, type) => {
    if (type === 'A') return ['127.0.0.1'];
    // DNS is queried before the site: the text is of the next look.
    return type === 'TXT' ? [`"look ${(looks.get(name) ?? 0) + 1}"`] : [];
  });
  site.serve(({ fields }) => {
    const domain = fields.find(([name]) => /^host$/i.test(name))?.[1].replace(/:.*/, '') ?? '';
    const look = (looks.get(domain) ?? 0) + 1;
    looks.set(domain, look);
    return { fields: [['server', `look ${look}`]] };
  });
  return {
    environment: {
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
      OBSERVE_PRIVATE: 'allow',
      OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
      OBSERVE_HTTP_PORT: String(site.port),
      OBSERVE_CONCURRENCY: '20',
      OBSERVE_CONNECTIONS_PER_ADDRESS: '1000',
      OBSERVE_QUESTIONS_PER_RESOLVER: '50',
      OBSERVE_LEASE: '5s',
    },
    looksAt: (domain) => looks.get(domain) ?? 0,
    async close() {
      await Promise.all([dns.close(), site.close()]);
    },
  };
}
