import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { UsageError } from '../../src/model/errors.js';
import { settingNames } from '../support/setting-names.js';

const SETTINGS = [...settingNames()].filter((name) => !name.startsWith('PG') && !name.endsWith('_HEADERS'));

test.each([
  ['port', 'PORT'],
  ['Data_Dir', 'DATA_DIR'],
  ['AUTH_REQUIRD', 'AUTH_REQUIRED'],
  ['AUTH_REQUIREDD', 'AUTH_REQUIRED'],
  ['AUTH-REQUIRED', 'AUTH_REQUIRED'],
  ['AUTH_REQIURED', 'AUTH_REQUIRED'],
  ['CORS_ORIGIN', 'CORS_ORIGINS'],
  ['OTEL_TRACE_EXPORTER', 'OTEL_TRACES_EXPORTER'],
])(
  'a variable that is nearly a setting stops the start with the name that was meant: %s, %s',
  (name, meant) => {
    const read = () => readSettings({ [name]: 'all' });
    expect(read).toThrow(UsageError);
    expect(read).toThrow(`${name} is not a setting: write ${meant}.`);
  },
);

test('any setting in lower case, or of six letters and more without one of them, stops the start', () => {
  fc.assert(
    fc.property(fc.constantFrom(...SETTINGS), fc.nat(), (setting, place) => {
      const names = [setting.toLowerCase()];
      const at = place % setting.length;
      const shorter = setting.slice(0, at) + setting.slice(at + 1);
      if (setting.length >= 6 && !SETTINGS.includes(shorter)) names.push(shorter);
      for (const name of names) expect(() => readSettings({ [name]: '' })).toThrow('is not a setting: write');
    }),
  );
});

test.each([
  // Shells, the system and its services; containers and their orchestration; build tools and platforms; PostgreSQL.
  'HOSTNAME HOSTTYPE HOME SHELL LANG LC_ALL TERM PWD PATH EDITOR DISPLAY LOGNAME XDG_DATA_DIRS XDG_DATA_HOME TMPDIR',
  'LISTEN_FDS NOTIFY_SOCKET INVOCATION_ID JOURNAL_STREAM STATE_DIRECTORY LOGS_DIRECTORY CACHE_DIRECTORY',
  'DMS_PORT DMS_SERVICE_HOST DMS_SERVICE_PORT DMS_PORT_4000_TCP_ADDR REDIS_PORT REDIS_HOST POSTGRES_PORT PORTS HOSTS',
  'NODE_ENV NODE_OPTIONS NODE_VERSION npm_config_loglevel INIT_CWD CI PORT_RANGE ROLES DYNO DATABASE_NAME GIT_DIR',
  'http_proxy https_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY no_proxy ALL_PROXY SSL_CERT_FILE DNS_SERVER_SERVICE_HOST',
  'PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD PGPASSFILE PGSSLMODE POSTGRES_PASSWORD POSTGRES_DB',
  'OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES OTEL_METRICS_EXPORTER OTEL_LOGS_EXPORTER OTEL_TRACES_SAMPLER OTEL_LOG_LEVEL',
])('variables of other programs do not stop the start: %s', (names) => {
  const environment = Object.fromEntries(names.split(' ').map((name) => [name, 'x']));
  expect(readSettings(environment)).toMatchObject({ host: '127.0.0.1', port: 4000 });
});

test('a variable like a setting that is set itself does not stop the start', () => {
  expect(readSettings({ LOGLEVEL: 'loud', LOG_LEVEL: 'warn' }).logLevel).toBe('warn');
  expect(readSettings({ LOGLEVEL: 'loud', LOG_LEVEL: '' }).logLevel).toBe('info');
});
