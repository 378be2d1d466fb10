import { expect, test } from 'vitest';
import { changeText, painter } from '../../src/cli/history-text.js';

test('dms follow says of a history that was extended from when on it is different', () => {
  const change = { kind: 'HISTORY_EXTENDED', date: '2024-01-01T00:00:00.000000Z' };
  const earliest = '2010-01-01T00:00:00.000000Z';
  expect(changeText({ ...change, earliest }, 'example.com', painter('never', {}))).toBe(
    'history extended, different from 2010-01-01T00:00:00Z on',
  );
});
