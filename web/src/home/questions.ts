import { headersOf, questionsOf, recordsOf, type WordQuestion } from '../../../src/model/word-questions.js';

/** What the address asks for: what was written (`q`), or one thing exactly, as links have it. */
export function questionsOfAddress(
  parameters: Readonly<Record<string, string | undefined>>,
): readonly WordQuestion[] {
  const { q, header, value, contains } = parameters;
  if (header !== undefined && (value ?? contains) !== undefined) {
    return [
      headersOf({
        name: header,
        ...(value !== undefined ? { value } : contains !== undefined && { contains }),
      }),
    ];
  }
  for (const condition of ['ip', 'network', 'target', 'text', 'host'] as const) {
    const given = parameters[condition];
    if (given !== undefined) return [recordsOf(condition, given)];
  }
  return questionsOf(q ?? '');
}
