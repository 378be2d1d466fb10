import { describe, expect, test } from 'vitest';
import { createParser, type ImportFormat } from '../../src/importers/formats.js';
import { HTTPX_1_7, httpxLine } from '../support/httpx-lines.js';
import { NOW, observationLine } from '../support/observations.js';

const DMS = observationLine({ at: 1, headers: { server: 'x' } });
const HTTPX = httpxLine();

/** What parses one input, and the formats that it was found to have. */
function detecting() {
  const formats: ImportFormat[] = [];
  const options = {
    now: () => NOW,
    ignoredHeaders: new Set<string>(),
    onDetected: (format: ImportFormat) => formats.push(format),
  };
  return { parse: createParser('auto', options), formats };
}

describe('the format of an input', () => {
  test.each([
    ['dms', DMS],
    ['httpx', HTTPX],
    ['httpx', JSON.stringify({ ...HTTPX_1_7, header: undefined })],
    ['dms', '{"domain":"example.com","url":"https://example.com","timestamp":"2024-01-01T00:00:00Z"}'],
    ['dms', '{"observedAt":"2024-01-01T00:00:00Z"}'],
  ] as const)('is told by the keys of its first line: %s', (format, line) => {
    const { parse, formats } = detecting();
    try {
      parse(line);
    } catch {
      // A line that is refused tells the format all the same.
    }
    expect(formats).toEqual([format]);
  });

  test('is told by its first line that has the keys of one; those before are refused', () => {
    const { parse, formats } = detecting();
    expect(() => parse('broken')).toThrow(/^the line is not valid JSON/);
    expect(() => parse('{"host":"example.com","timestamp":"2024-01-01T00:00:00Z","resolver":[]}')).toThrow(
      /^its keys tell no format: .*--format dms or --format httpx/,
    );
    expect(formats).toEqual([]);
    expect(parse(HTTPX)[0]?.source).toBe('httpx');
    expect(formats).toEqual(['httpx']);
  });

  test('holds for the whole of it: a line of another format is refused', () => {
    const { parse } = detecting();
    parse(HTTPX);
    expect(() => parse(DMS)).toThrow('url: it is missing, and so is input.');
    const other = detecting();
    other.parse(DMS);
    expect(() => other.parse(HTTPX)).toThrow('unknown key "timestamp".');
  });
});
