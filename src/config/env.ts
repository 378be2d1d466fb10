import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from '../model/errors.js';
import {
  parseBasePath,
  parseChoice,
  parseDatabaseUrl,
  parseInteger,
  parseScopes,
  parseTrustProxy,
} from './parse.js';
import { LOG_LEVELS, ROLES, type Settings } from './settings.js';

/** What settings are read from: process.env, or an object of the same shape. */
export type Environment = Readonly<Record<string, string | undefined>>;

const HIGHEST_RATE_LIMIT = 1_000_000_000;

/**
 * Reads the settings and checks them. An empty value counts as unset, but for ANONYMOUS_SCOPES, where it
 * means that a client without a token may do nothing that needs a scope.
 *
 * @throws UsageError, one line that names the setting, what it is and what to write instead.
 */
export function readSettings(environment: Environment = process.env): Settings {
  /** The setting's value, parsed, or what it is without one. */
  const read = <Value>(name: string, fallback: string, parse: (name: string, value: string) => Value) =>
    parse(name, environment[name]?.trim() || fallback);
  const limit = (name: string, value: string) => parseInteger(name, value, 1, HIGHEST_RATE_LIMIT);
  return {
    host: read('HOST', '127.0.0.1', (_name, value) => value),
    port: read('PORT', '4000', (name, value) => parseInteger(name, value, 0, 65_535)),
    basePath: read('BASE_PATH', '', parseBasePath),
    databaseUrl: environment['DATABASE_URL'] ? read('DATABASE_URL', '', parseDatabaseUrl) : undefined,
    dataDirectory: read('DATA_DIR', './data', (_name, value) => resolve(value)),
    logLevel: read('LOG_LEVEL', 'info', (name, value) => parseChoice(name, value, LOG_LEVELS)),
    role: read('ROLE', 'all', (name, value) => parseChoice(name, value, ROLES)),
    rateLimits: {
      anonymous: read('RATE_LIMIT_ANONYMOUS', '600', limit),
      token: read('RATE_LIMIT_TOKEN', '6000', limit),
    },
    anonymousScopes: parseScopes('ANONYMOUS_SCOPES', environment['ANONYMOUS_SCOPES'] ?? 'search:read'),
    samples: read('SAMPLES', 'on', (name, value) => parseChoice(name, value, ['on', 'off'])) === 'on',
    trustProxy: read('TRUST_PROXY', '0', parseTrustProxy),
  };
}

/**
 * Adds the settings of a file `.env` to the environment, where there is one in the working directory. What
 * the environment has already stays.
 *
 * @throws UsageError where the file cannot be read.
 */
export function loadEnvironmentFile(): void {
  if (!existsSync('.env')) return;
  try {
    process.loadEnvFile('.env');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The file .env cannot be read (${reason}): make it readable, or remove it.`);
  }
}
