import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CHECKOUT, LONGEST_STOP, textOf } from '../support/deployment-files.js';
import { isInstalled } from '../support/processes.js';
import { settingNames } from '../support/setting-names.js';

const FOLDER = join(CHECKOUT, 'deploy/systemd');
const TEXT = textOf('deploy/systemd/dms@.service');

/** A tenth of what systemd calls the exposure level; below 2.0 it is OK. */
const MOST_EXPOSURE = 20;

describe.skipIf(!isInstalled('systemd-analyze') || !existsSync('/usr/bin/node'))(
  'with systemd-analyze',
  () => {
    test.each(['serve', 'worker'])('the systemd unit has no mistake, as dms@%s', (command) => {
      const unit = join(FOLDER, `dms@${command}.service`);
      const { stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', unit]);
      expect([String(stderr), status]).toEqual(['', 0]);
    });

    test('the systemd unit gives the program few rights', () => {
      const options = ['--offline=true', `--threshold=${MOST_EXPOSURE}`];
      const rated = execFileSync('systemd-analyze', ['security', ...options, join(FOLDER, 'dms@.service')]);
      expect(String(rated)).toMatch(/Overall exposure level .* OK/);
    });
  },
);

test('the systemd unit sets only variables that the program reads', () => {
  const assigned = [...TEXT.matchAll(/^Environment=(\w+)=/gm)].map(([, name = '']) => name);
  const names = settingNames();
  expect(assigned.filter((name) => !names.has(name))).toEqual([]);
});

test('the systemd unit lets requests complete before the program is killed', () => {
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(TEXT)?.[1])).toBeGreaterThan(LONGEST_STOP);
});
