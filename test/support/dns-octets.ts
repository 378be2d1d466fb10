/* Names, texts and numbers of DNS messages as octets, for the tests' side: nothing of it is the program's own code. */

const CHARACTER = /\\(\d{3})|\\(.)|([^\\])/gs;

/** The octets of a text of a master file: `\DDD` is an octet, `\X` the character X (RFC 1035, section 5.1). */
export function textOctets(text: string): Buffer {
  const parts = Array.from(text.matchAll(CHARACTER), ([, decimal, escaped, plain]) =>
    decimal === undefined ? Buffer.from(escaped ?? plain ?? '') : Buffer.of(Number(decimal)),
  );
  return Buffer.concat(parts);
}

/** The octets of a name in full; with or without its final dot. */
export function nameOctets(name: string): Buffer {
  const labels = (name.match(/(?:\\\d{3}|\\.|[^.\\])+/gs) ?? []).map(textOctets);
  return Buffer.concat([...labels.flatMap((label) => [Buffer.of(label.length), label]), Buffer.of(0)]);
}

/** The octets of a name as the key by which it is found: equal for names that DNS takes for equal. */
export function nameKey(octets: Buffer): string {
  return octets.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The name behind a key: lower case, without its final dot, dots and backslashes in labels escaped. */
export function keyName(key: string): string {
  const labels: string[] = [];
  for (let at = 0; at < key.length - 1; at += 1 + key.charCodeAt(at)) {
    const label = key.slice(at + 1, at + 1 + key.charCodeAt(at));
    labels.push(label.replace(/[.\\]/g, '\\$&'));
  }
  return labels.length === 0 ? '.' : labels.join('.');
}

/** The key of the name with one label less; the root is its own parent. */
export function parentKey(key: string): string {
  return key.length <= 1 ? key : key.slice(1 + key.charCodeAt(0));
}

export function uint16(...numbers: number[]): Buffer {
  return Buffer.from(numbers.flatMap((number) => [number >> 8, number & 0xff]));
}

export function uint32(...numbers: number[]): Buffer {
  return Buffer.concat(numbers.map((number) => uint16(Math.floor(number / 0x10000), number % 0x10000)));
}
