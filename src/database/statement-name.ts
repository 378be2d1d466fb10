import { createHash } from 'node:crypto';

/** A server keeps each named statement for as long as the connection lives: this many, and no more. */
const MOST_STATEMENTS = 500;

/**
 * Names for prepared statements, so that a server plans each of our statements once for each
 * connection: the same SQL text always has the same name, of 26 characters. A text that comes after
 * 500 others has no name (the empty string), and is planned every time.
 */
export function statementNames(): (query: { readonly sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MOST_STATEMENTS) return '';
    const name = `dms_${createHash('sha256').update(sql).digest('base64url').slice(0, 22)}`;
    names.set(sql, name);
    return name;
  };
}
