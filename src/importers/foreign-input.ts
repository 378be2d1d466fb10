import { OperationError } from '../model/errors.js';
import { type Input, peek } from './open-input.js';

/** Far more than any recognized beginning; of a longer first line only this is examined. */
const HEAD_BYTES = 4096;

/** @throws OperationError, before any bytes, for what begins as a packed file, an archive or another text. */
export async function* requireLines({ name, bytes }: Input): AsyncGenerator<Buffer> {
  // Nothing can be imported before the first line is complete, so buffering it delays nothing.
  const isEnough = (head: Buffer) => head.length >= HEAD_BYTES || head.includes('\n');
  const [first, all] = await peek(bytes, (chunks) => isEnough(Buffer.concat(chunks)));
  const head = Buffer.concat(first).subarray(0, HEAD_BYTES);
  const [octets, text] = [head.toString('hex'), head.toString('utf8').replace(/^\ufeff?\s*/, '')];
  const foreign =
    FOREIGN_OCTETS.find(([pattern]) => pattern.test(octets)) ??
    FOREIGN_TEXTS.find(([pattern]) => pattern.test(text));
  for await (const chunk of all) {
    // Thrown here, it closes the input too, whose writer might go on.
    if (foreign !== undefined) {
      const [, kind, advice] = foreign;
      throw new OperationError(`${name} is ${kind}, and nothing of it is imported: ${advice}.`);
    }
    yield chunk;
  }
}

const FORMATS_READ =
  'dms import reads one JSON object per line, in format dms ({"domain":"example.org",' +
  '"observedAt":"2024-03-01T10:20:30Z","dnsRecords":[…]}), as httpx -json -irh, dnsx -json, zdns and ' +
  'massdns -o J write it, or in the Common Output Format of passive DNS';

type Foreign = readonly [beginning: Pick<RegExp, 'test'>, kind: string, advice: string];

/** By the octets in hexadecimal. */
const FOREIGN_OCTETS: readonly Foreign[] = [
  [/^28b52ffd/, 'packed with zstd', unpackWith('zstd -dc')],
  [/^425a683[1-9]31415926/, 'packed with bzip2', unpackWith('bzip2 -dc')],
  [/^504b0304/, 'packed with zip', unpackWith('unzip -p')],
  [/^04224d18/, 'packed with lz4', unpackWith('lz4 -dc')],
  [/^1f9d/, 'packed with compress', unpackWith('gzip -dc')],
  [/^377abcaf271c/, 'packed with 7-Zip', unpackWith('7z x -so')],
  // One layer is unpacked already.
  [/^1f8b/, 'packed with gzip twice', unpackWith('gzip -dc')],
  // POSIX, pax: `ustar` behind the first entry's name, modes and times.
  [/^.{514}7573746172/, 'a tar archive', unpackWith('tar -xOf')],
  // Without a byte order mark: by the NUL beside the first character, which is in ASCII.
  [
    /^(?:00[2-7].|[2-7].00)/,
    'text in UTF-16',
    'convert it first, iconv -f UTF-16 -t UTF-8 FILE | dms import -',
  ],
];

function unpackWith(command: string): string {
  return `unpack it first, ${command} FILE | dms import -`;
}

/** By the text after a byte order mark and white space. */
const FOREIGN_TEXTS: readonly Foreign[] = [
  [/^<[!?a-z]/i, 'HTML or XML', 'check where it comes from; it may be an error page'],
  [/^%PDF-/, 'a PDF', FORMATS_READ],
  [/^\[\s*[{\n]/, 'one JSON array', "write one object per line, jq -c '.[]' FILE | dms import -"],
  [
    // RFC 1035, section 5.1: a directive, a comment, or an owner name, perhaps a TTL and a class, a type, data.
    /^(?:\$[A-Z]+\s|;|[\w.*@-]+[ \t]+(?:\d+[ \t]+)?(?:IN[ \t]+)?(?:A|AAAA|NS|SOA|CNAME|MX|TXT|PTR)[ \t]+\S)/,
    'a zone file, or the output of dig or massdns -o S',
    `${FORMATS_READ}. To record the records of a domain as they are now, run dms observe DOMAIN`,
  ],
  [{ test: isTable }, 'a table (CSV)', FORMATS_READ],
];

/** Two lines of as many columns, the first of which names them: other text may have commas, too. */
function isTable(text: string): boolean {
  const [names = '', values = ''] = text.split(/\r?\n/, 2);
  if (!/^[\w .#"-]+(?:[,;\t][\w .#"-]+)+$/.test(names) || values.startsWith('{')) return false;
  const columns = (line: string, separator: string) => line.split(separator).length;
  return [',', ';', '\t'].some(
    (each) => names.includes(each) && columns(names, each) === columns(values, each),
  );
}
