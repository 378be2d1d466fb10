import type { Scope } from '../auth/viewer.js';
import type { ObservationLimits } from '../model/observation.js';

/** How much is logged, from most to nothing. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** What a serving process does: everything, or the API only. */
export const ROLES = ['all', 'api'] as const;

export type Role = (typeof ROLES)[number];

/** The program's settings, checked. */
export interface Settings {
  /** Where to listen; port 0 takes a free one. */
  readonly host: string;
  readonly port: number;
  /** The path before all others: empty, or like `/dms` or `/a/b`. */
  readonly basePath: string;
  /** Address of a PostgreSQL database; absent: the embedded database. It may hold a password. */
  readonly databaseUrl: string | undefined;
  /** Folder of the embedded database. */
  readonly dataDirectory: string;
  readonly logLevel: LogLevel;
  readonly role: Role;
  /** Domains asked for in a minute, by a client's address and by a token. */
  readonly rateLimits: { readonly anonymous: number; readonly token: number };
  /** Failed authentications in a minute by a client's address, and GraphQL requests that ask for no domain. */
  readonly penaltyLimits: { readonly failures: number; readonly documents: number };
  /** Address of a Redis in which processes count together; absent: each counts alone. It may hold a password. */
  readonly redisUrl: string | undefined;
  readonly auth: AuthSettings;
  /** What a client without a token may do, and so every client; without effect where all need one. */
  readonly anonymousScopes: ReadonlySet<Scope>;
  /** Whether a new embedded database is filled with the sample observations. */
  readonly samples: boolean;
  /**
   * Which proxies may name a client's address in X-Forwarded-For: how many of the nearest hops, or those
   * of these addresses and subnets. Zero hops: none.
   */
  readonly trustProxy: number | readonly string[];
  /** How long, in milliseconds, requests and observations under way may take once the service stops. */
  readonly shutdownTimeout: number;
  readonly observe: ObserveSettings;
  /** How many octets of large histories may be in answers at once. */
  readonly answerMemory: number;
  /** What one observation may hold, and how many bytes a line of an import may have. */
  readonly limits: ObservationLimits & { readonly line: number };
  readonly http: HttpSettings;
  readonly graphql: GraphqlSettings;
  readonly telemetry: TelemetrySettings;
  /** What must not be read in any log: the passwords in other settings. */
  readonly secrets: readonly string[];
}

/** What HTTP clients are told besides the data. */
export interface HttpSettings {
  /** For how many seconds an answer of REST may be used before it is revalidated. */
  readonly maxAge: number;
  /** The origins whose pages may read answers in a browser: all, or these. */
  readonly corsOrigins: '*' | readonly string[];
}

/** Who is let in. */
export interface AuthSettings {
  /** An identity provider, whose access tokens are taken beside the service's own; absent: there is none. */
  readonly provider: IdentityProviderSettings | undefined;
  /** What needs a token: operations with a scope, or everything. */
  readonly required: (typeof AUTH_REQUIREMENTS)[number];
}

/** What needs a token. */
export const AUTH_REQUIREMENTS = ['scopes', 'all'] as const;

/** Whose JSON Web Tokens are taken. */
export interface IdentityProviderSettings {
  /** Where its public keys are (RFC 7517, section 5). */
  readonly jwksUrl: URL;
  /** What a token's claims `iss` and `aud` must say. */
  readonly issuer: string;
  readonly audience: string;
}

/** What GraphQL answers. */
export interface GraphqlSettings {
  /** What one request may cost. */
  readonly maxCost: number;
  /** Whether clients may ask for the schema. */
  readonly introspection: boolean;
  /** The file of the operations that alone are answered; undefined: any operation is. */
  readonly persistedOnly: string | undefined;
}

/** What a process tells of itself beside its log. */
export interface TelemetrySettings {
  /** Where metrics have an address of their own; 0 takes a free port; absent: they have none. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  /** Whether traces are sent; where to and how is said by OpenTelemetry's own variables. */
  readonly traces: boolean;
}

/** How domains are observed. Durations are milliseconds unless said otherwise. */
export interface ObserveSettings {
  /** The resolvers to ask, in order of preference; none: those of the system. */
  readonly dnsServers: readonly { readonly address: string; readonly port: number }[];
  /** Every DNS type to ask for. */
  readonly dnsTypes: readonly string[];
  /** How long one try of a question may take, and how many tries it has. */
  readonly dnsTimeout: number;
  readonly dnsTries: number;
  readonly httpsPort: number;
  readonly httpPort: number;
  /** How long the observation of a site may take in all. */
  readonly httpTimeout: number;
  /**
   * For how long a site's HTTPS must be declined before its responses over HTTP count, in microseconds; 0: they
   * always do.
   */
  readonly httpsGrace: bigint;
  readonly userAgent: string;
  /** Who observes, as recorded observations tell. */
  readonly source: string;
  /** The response headers that are not recorded: field names in lower case. */
  readonly ignoredHeaders: ReadonlySet<string>;
  /** Whether addresses are connected to that are not public. */
  readonly allowPrivate: boolean;
  /** How many domains, questions to one resolver, and connections to one address are under way at once. */
  readonly concurrency: number;
  readonly questionsPerResolver: number;
  readonly connectionsPerAddress: number;
  /** For how long a worker has a domain to itself. A look at it ends at half of that. */
  readonly lease: number;
}
