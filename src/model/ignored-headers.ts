/**
 * The fields that are omitted by default, by reason. A name belongs here only if its value differs at (nearly)
 * every request while nothing about the site has changed: what a person would call a change of the site's
 * configuration is worth its history. So `nel`, `via`, `etag`, `content-length`, `x-ratelimit-limit` and
 * policies with nonces stay, though some sites change them often.
 */
const BY_REASON: Readonly<Record<string, string>> = {
  'the time of the response (RFC 9110, section 6.6.1)': 'date',
  'the seconds that the response has been in a cache (RFC 9111, section 5.1)': 'age',
  'a time that most servers reckon from the time of the response (RFC 9111, section 5.3)': 'expires',
  'how long the response took':
    'server-timing x-runtime x-response-time x-process-time x-timer x-envoy-upstream-service-time ' +
    'x-kong-upstream-latency x-kong-proxy-latency sprequestduration spiislatency x-amzn-remapped-date ' +
    'cdn-requesttime',
  'the id of the request':
    'request-id x-request-id x-requestid x-req-id x-unique-id x-transaction-id correlation-id ' +
    'x-correlation-id x-kong-request-id x-amz-request-id x-amz-id-2 x-amz-rid x-amz-apigw-id ' +
    'apigw-requestid x-amzn-requestid x-amz-cf-id x-azure-ref x-msedge-ref x-ms-request-id ms-cv ' +
    'apim-request-id sprequestguid x-cloud-trace-context x-guploader-uploadid cf-ray cf-request-id ' +
    'akamai-grn x-akamai-request-id x-fastly-request-id x-iinfo x-hw x-llid cdn-requestid x-77-nzt ' +
    'x-77-nzt-ray eagleid x-nws-log-uuid eo-log-uuid x-tt-logid x-github-request-id x-vercel-id ' +
    'x-nf-request-id fly-request-id rndr-id x-railway-request-id x-styx-req-id x-wix-request-id x-seen-by ' +
    'x-contextid x-hubspot-correlation-id x-sfdc-request-id x-fb-debug x-fb-connection-quality x-li-uuid ' +
    'x-connection-hash paypal-debug-id rlogid bdqid traceid',
  'the id of a trace':
    'traceparent tracestate traceresponse x-trace-id trace-id x-trace b3 x-b3-traceid x-b3-spanid ' +
    'x-b3-parentspanid x-b3-sampled uber-trace-id x-amzn-trace-id x-datadog-trace-id x-datadog-parent-id ' +
    'sentry-trace baggage elastic-apm-traceparent x-newrelic-app-data eagleeye-traceid x-tt-trace-id ' +
    'x-tt-trace-host',
  'a token of the request in the address for reports (Cloudflare, Heroku)': 'report-to reporting-endpoints',
  'whether this response came from a cache, and how often others did':
    'cache-status x-cache x-cache-hits x-cache-lookup x-cache-remote x-cache-status x-proxy-cache ' +
    'x-nginx-cache x-fastcgi-cache x-varnish-cache x-litespeed-cache x-qc-cache x-drupal-cache ' +
    'x-drupal-dynamic-cache x-kinsta-cache x-sucuri-cache cf-cache-status x-vercel-cache cdn-cache ' +
    'x-77-cache eo-cache-status ddg-cache-status',
  'the requests that put the response into the cache and took it out': 'x-varnish',
  'the age of the response in a cache, or since when it is there':
    'x-age x-77-age x-cache-age x-cached-since cdn-cachedat x-swift-savetime x-swift-cachetime ' +
    'ali-swift-global-savetime',
  'which of many machines has answered, the next request going to another':
    'x-served-by x-amz-cf-pop x-pantheon-styx-hostname x-rq x-ac',
  'how many requests the client has left, or until when it must wait':
    'ratelimit ratelimit-remaining ratelimit-reset x-ratelimit-remaining x-ratelimit-reset ' +
    'x-ratelimit-used x-rate-limit-remaining x-rate-limit-reset',
};

export const IGNORED_HEADERS: ReadonlySet<string> = new Set(
  Object.values(BY_REASON).flatMap((names) => names.split(' ')),
);

/** Credentials, and cookies (RFC 6265, and RFC 2965, section 3.3): what is recorded is public. */
const SECRET = /(?:token|secret|authorization)$|^(?:set-)?cookie2?$/;

class IgnoredNames extends Set<string> {
  override has(name: string): boolean {
    return super.has(name) || SECRET.test(name);
  }
}

/**
 * The field names (lower case) to omit: those given; `connection`, which answers the observer's request to
 * close it (RFC 9110, section 7.6.1); and, listed or not, all whose values are secrets by their kind.
 */
export function alwaysIgnoring(ignored: Iterable<string>): ReadonlySet<string> {
  return new IgnoredNames([...ignored, 'connection']);
}
