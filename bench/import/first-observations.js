/** Headers that a first observation brings. */
const HEADERS = {
  'cache-control': 'max-age=600',
  'content-language': 'en',
  'content-security-policy': "default-src 'self'",
  'content-type': 'text/html; charset=utf-8',
  'referrer-policy': 'same-origin',
  server: 'nginx/1.24.0',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  vary: 'accept-encoding',
  via: '1.1 edge.example',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/**
 * A line of format `dms`: the first observation of a domain, with ten DNS records and twelve headers.
 *
 * @param {number} number the domain's
 * @param {string} [domain] its name
 * @param {number} [later] milliseconds after its first observation
 * @returns {string} with its line feed
 */
export function firstObservation(number, domain = `n${number}.example`, later = 0) {
  const observation = {
    domain,
    observedAt: new Date(Date.UTC(2024, 0, 1) + number * 7 + later).toISOString(),
    dnsRecords: recordsOf(domain, number).map((data) => ({ host: domain, class: 'IN', ...data })),
    httpHeaders: { ...HEADERS, etag: `"${number.toString(36)}-18d"` },
    source: 'bench',
  };
  return `${JSON.stringify(observation)}\n`;
}

/**
 * @param {string} domain
 * @param {number} number
 */
function recordsOf(domain, number) {
  const [low, high] = [number % 250, Math.floor(number / 250) % 250];
  return [
    { type: 'A', ip: `198.18.${high}.${low}` },
    { type: 'A', ip: `198.19.${high}.${low}` },
    { type: 'AAAA', ipv6: `2001:db8:1::${(number % 60000).toString(16)}` },
    { type: 'AAAA', ipv6: `2001:db8:2::${(number % 60000).toString(16)}` },
    { type: 'NS', target: `ns1.${domain}` },
    { type: 'NS', target: `ns2.${domain}` },
    { type: 'MX', pri: 10, target: `mail.${domain}` },
    {
      type: 'SOA',
      mname: `ns1.${domain}`,
      rname: `hostmaster.${domain}`,
      serial: 2024010100 + (number % 100),
      refresh: 7200,
      retry: 3600,
      expire: 1209600,
      'minimum-ttl': 300,
    },
    { type: 'TXT', entries: ['v=spf1 mx -all'] },
    { type: 'TXT', entries: [`site-verification=${number}`] },
  ];
}
