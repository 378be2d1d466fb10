import { OperationError } from '../model/errors.js';
import type { Input } from './open-input.js';

/** What an input is that has no lines to import, and what to do about it. */
interface Foreign {
  readonly is: string;
  readonly advice: string;
}

/** How packed files begin, in hexadecimal, and what unpacks them to standard output. */
const PACKINGS: readonly (readonly [magic: RegExp, packing: string, command: string])[] = [
  [/^28b52ffd/, 'zstd', 'zstd -dc FILE'],
  [/^fd377a585a00/, 'xz', 'xz -dc FILE'],
  [/^425a683[1-9]31415926/, 'bzip2', 'bzip2 -dc FILE'],
  [/^504b0304/, 'zip', 'unzip -p FILE'],
  [/^04224d18/, 'lz4', 'lz4 -dc FILE'],
  [/^1f9d/, 'compress', 'gzip -dc FILE'],
  [/^377abcaf271c/, '7-Zip', '7z x -so FILE'],
  // One layer is unpacked already.
  [/^1f8b/, 'gzip twice', 'gzip -dc FILE'],
];

/** A tar archive has it behind the first entry's name, modes and times (POSIX, pax: ustar). */
const TAR_MAGIC = { text: 'ustar', at: 257 };

/** Far more than any of the beginnings that are recognized; of a longer first line only this is examined. */
const HEAD_BYTES = 4096;
const LINE_FEED = 0x0a;

/**
 * The bytes of an input, unless it begins as a packed file, an archive, or a text of another kind: of these
 * every line would be rejected by itself.
 *
 * @throws OperationError, before it gives any, that says what the input is and what to do.
 */
export async function* requireLines({ name, bytes }: Input): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    // Nothing can be imported before the first line is complete, so buffering it delays nothing.
    if (head.length < HEAD_BYTES && !head.includes(LINE_FEED)) continue;
    rejectForeign(name, head.subarray(0, HEAD_BYTES));
    yield head;
    head = undefined;
  }
  if (head !== undefined) {
    rejectForeign(name, head.subarray(0, HEAD_BYTES));
    yield head;
  }
}

function rejectForeign(name: string, head: Buffer): void {
  const foreign = packed(head) ?? encoded(head) ?? textOfAnotherKind(head.toString('utf8'));
  if (foreign === undefined) return;
  throw new OperationError(`${name} is ${foreign.is}, and nothing of it is imported: ${foreign.advice}.`);
}

function packed(head: Buffer): Foreign | undefined {
  const start = head.toString('hex', 0, 8);
  const packing = PACKINGS.find(([magic]) => magic.test(start));
  if (packing !== undefined) {
    const [, is, command] = packing;
    return { is: `packed with ${is}`, advice: `unpack it first, ${command} | dms import -` };
  }
  if (!head.subarray(TAR_MAGIC.at).toString('latin1').startsWith(TAR_MAGIC.text)) return undefined;
  return { is: 'a tar archive', advice: 'unpack it first, tar -xOf FILE | dms import -' };
}

/** By its byte order mark, or the NUL beside the first character, which is in ASCII. */
function encoded(head: Buffer): Foreign | undefined {
  if (!/^(?:feff|fffe|00[2-7].|[2-7].00)/.test(head.toString('hex', 0, 2))) return undefined;
  return {
    is: 'text in UTF-16',
    advice: 'convert it first, iconv -f UTF-16 -t UTF-8 FILE | dms import -',
  };
}

/** What is read, for those who have something else. */
export const FORMATS_READ =
  'dms import reads one JSON object per line, in format dms ({"domain":"example.org",' +
  '"observedAt":"2024-03-01T10:20:30Z","dnsRecords":[…]}) or as httpx -json -irh writes it';

function textOfAnotherKind(text: string): Foreign | undefined {
  const start = text.replace(/^\ufeff?\s*/, '');
  if (/^<[!?a-z]/i.test(start)) {
    return { is: 'HTML or XML', advice: 'check where it comes from; it may be an error page' };
  }
  if (/^\[\s*[{\n]/.test(start)) {
    return { is: 'one JSON array', advice: "write one object per line, jq -c '.[]' FILE | dms import -" };
  }
  if (/^\{[ \t]*\r?\n\s*"/.test(start)) {
    return {
      is: 'JSON over several lines',
      advice: 'write one object per line, jq -c . FILE | dms import -',
    };
  }
  if (start.startsWith('%PDF-')) return { is: 'a PDF', advice: FORMATS_READ };
  if (isMasterFile(start)) {
    return {
      is: 'a zone file, or the output of dig or massdns -o S',
      advice: `${FORMATS_READ}. To record the records of a domain as they are now, run dms observe DOMAIN`,
    };
  }
  return isTable(start) ? { is: 'a table (CSV)', advice: FORMATS_READ } : undefined;
}

/** A directive, a comment, or an owner name with perhaps a TTL and a class, a type, and data (RFC 1035, section 5.1). */
function isMasterFile(text: string): boolean {
  return /^(?:\$(?:ORIGIN|TTL|INCLUDE)\s|;|[\w.*@-]+[ \t]+(?:\d+[ \t]+)?(?:IN[ \t]+)?(?:A|AAAA|NS|SOA|CNAME|MX|TXT|PTR)[ \t]+\S)/.test(
    text,
  );
}

/** Two lines with as many commas, semicolons or tabs, the first of which names the columns. */
function isTable(text: string): boolean {
  const [names = '', values] = text.split(/\r?\n/, 2);
  if (values === undefined || !/^[\w .#"-]+(?:[,;\t][\w .#"-]+)+$/.test(names)) return false;
  return [',', ';', '\t'].some((separator) => {
    const columns = names.split(separator).length;
    return columns > 1 && columns === values.split(separator).length;
  });
}

type Has = (key: string) => boolean;

/** Tools whose lines are known by their keys. */
const TOOLS: readonly (readonly [tool: string, has: (has: Has) => boolean])[] = [
  ['amass', (has) => has('name') && has('domain') && (has('addresses') || has('sources'))],
  ['dnsx', (has) => has('host') && (has('resolver') || has('all'))],
  ['zdns', (has) => has('name') && (has('results') || (has('status') && has('data') && !has('type')))],
  ['massdns', (has) => has('name') && (has('status') ? has('type') && has('class') : has('error'))],
  ['DNSDB', (has) => has('cond') || has('obj')],
  ['passive DNS (COF)', (has) => has('rrname') && has('rrtype')],
  ['subfinder', (has) => has('host') && has('input') && has('source') && !has('timestamp')],
];

/** The tool that writes lines with such keys, where it is known and its lines are not read. */
export function toolOf(line: Readonly<Record<string, unknown>>): string | undefined {
  return TOOLS.find(([, matches]) => matches((key) => Object.hasOwn(line, key)))?.[0];
}
