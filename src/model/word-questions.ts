// The page has this file, too: it imports nothing.

export type WordQuestion =
  /** Domains by a pattern (empty: too short for one), and that of a whole name (null: it is a pattern). */
  | { readonly of: 'domains'; readonly title: string; readonly match: string; readonly name: string | null }
  | { readonly of: 'records'; readonly title: string; readonly where: RecordCondition }
  | { readonly of: 'headers'; readonly title: string; readonly where: HeaderCondition };

const RECORD_TITLES = {
  ip: 'Who has the address',
  network: 'Who has an address of the network',
  target: 'Whose records name the host',
  text: 'Whose TXT records have',
  host: 'Records of the owner name',
} as const;

type RecordCondition = Readonly<Partial<Record<keyof typeof RECORD_TITLES, string>>>;

/** The whole value, or a part of it. */
interface HeaderCondition {
  readonly name: string;
  readonly value?: string;
  readonly contains?: string;
}

const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=.*:.*:)[\da-f:]+(?:[\d.]+)?)$/i;
const NETWORK = /^[\da-f:.]+\/\d{1,3}$/i;
/** A field name (RFC 9110, section 5.6.2), and a part of its value. */
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):(\s*)(.*)$/;
/** Letters of any script are: the API brings names into their canonical form. */
const NAME = /^[\p{L}\p{M}\p{N}_.*-]+$/u;

/** The API searches for no shorter part. */
const SHORTEST = 3;

/** What a person may look for who has written a text; nothing where it is too short. */
export function questionsOf(written: string): readonly WordQuestion[] {
  // Of an address of the web, its host.
  const text = written.trim().replace(/^https?:\/\/([^/?#:@]+).*$/i, '$1');
  if (ADDRESS.test(text)) return [recordsOf('ip', text)];
  if (NETWORK.test(text)) return [recordsOf('network', text)];
  const [, header, space, part = ''] = HEADER.exec(text) ?? [];
  const questions = NAME.test(text) ? questionsOfName(text) : [];
  if (header !== undefined) {
    if (part.length >= SHORTEST) questions.push(headersOf({ name: header.toLowerCase(), contains: part }));
    // Without a space, it may be a part of a text, such as `include:spf.example.net`.
    if (space !== '') return questions;
  }
  if (text.length >= SHORTEST && !text.includes('*')) questions.push(recordsOf('text', text));
  return questions;
}

function questionsOfName(text: string): WordQuestion[] {
  const name = canonical(text.replace(/\.$/, '').toLowerCase());
  const isWhole = !name.includes('*') && !name.startsWith('.');
  const questions: WordQuestion[] = [];
  if (name.replaceAll('*', '').length >= SHORTEST) {
    const match = name.includes('*') ? name : `*${name}*`;
    questions.push({ of: 'domains', title: 'Domains', match, name: isWhole ? name : null });
  } else if (isWhole) {
    const title = `The domain ${name} (write three characters for parts of names)`;
    questions.push({ of: 'domains', title, match: '', name });
  }
  const isHost = (isWhole && name.includes('.')) || /^\*\.[^*]+$/.test(name);
  if (isHost) questions.push(recordsOf('target', name));
  // Owner names that are no domains have underscores, such as _dmarc.
  if (isHost && name.includes('_')) questions.push(recordsOf('host', name));
  return questions;
}

/** Patterns have A-labels (RFC 5890, section 2.3.2.1), as names are recorded: those of whole labels. */
function canonical(name: string): string {
  if (!/[^\x20-\x7e]/.test(name) || name.includes('*')) return name;
  // URL.canParse() of Node.js 20 rejects what is not ASCII once it is optimized.
  try {
    return new URL(`http://${name}`).hostname;
  } catch {
    return name;
  }
}

export function recordsOf(condition: keyof typeof RECORD_TITLES, value: string): WordQuestion {
  return { of: 'records', title: `${RECORD_TITLES[condition]} ${value}`, where: { [condition]: value } };
}

export function headersOf(where: HeaderCondition): WordQuestion {
  const { name, value, contains } = where;
  const title =
    value === undefined ? `Whose header ${name} has ${contains}` : `Whose header ${name} is ${value}`;
  return { of: 'headers', title, where };
}
