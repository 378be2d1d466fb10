import { addressOf } from './address.js';
import { partsOf, type RecordEntry, rdataOf, type Search, textOf } from './records.js';
import { compareTexts, type TextPart, visiblePieces } from './text-parts.js';

/**
 * A text that someone else has written: as it is, with characters that are not visible as marks, and isolated from the
 * direction of others.
 */
export function Text({ value }: { readonly value: string }) {
  return (
    <bdi class="text" dir="ltr">
      {visiblePieces(value).map((piece, place) =>
        typeof piece === 'string' ? (
          piece
        ) : (
          <span key={place} class="code-point">
            {piece.codePoint}
          </span>
        ),
      )}
    </bdi>
  );
}

/** A link to all who have a value. */
export function Pivot({ to, text }: { readonly to: Search; readonly text: string }) {
  return (
    <a href={addressOf('/', to)} title="Who else has it?" class="pivot">
      <Text value={text} />
    </a>
  );
}

/** An owner name that is not the domain's, with the link to all records of it. */
export function Owner({ name }: { readonly name: string }) {
  return <Pivot to={{ host: name }} text={name} />;
}

/** A longer address would be rejected when it is loaded. */
const MAX_SEARCHED = 1_000;

/** A long value is searched by its beginning. */
function searchOfHeader(header: string, value: string): Search {
  return value.length > MAX_SEARCHED ? { header, contains: value.slice(0, MAX_SEARCHED) } : { header, value };
}

function searchOfText(entries: readonly string[]): Search {
  return { text: entries.join('').slice(0, MAX_SEARCHED) };
}

function Empty() {
  return <span class="muted">empty</span>;
}

/** A value of a header, with the link to who else has it. */
export function HeaderValue({ name, value }: { readonly name: string; readonly value: string }) {
  return value === '' ? <Empty /> : <Pivot to={searchOfHeader(name, value)} text={value} />;
}

type SideName = 'old' | 'new';

/** What is in only one of two values. */
function Only({ side, text }: { readonly side: SideName; readonly text: string }) {
  const Mark = side === 'old' ? 'del' : 'ins';
  return (
    <Mark>
      <Text value={text} />
    </Mark>
  );
}

/** One of two values that were compared, with the link to who else has it. */
function Compared({
  parts,
  side,
  to,
}: {
  readonly parts: readonly TextPart[];
  readonly side: SideName;
  readonly to: Search;
}) {
  return (
    <a href={addressOf('/', to)} title="Who else has it?" class="pivot">
      {parts
        .filter((part) => part.in === 'both' || part.in === side)
        .map((part, place) =>
          part.in === 'both' ? (
            <Text key={place} value={part.text} />
          ) : (
            <Only key={place} side={side} text={part.text} />
          ),
        )}
    </a>
  );
}

/** Two values of a header, part by part: what is in only one of them is marked. */
export function comparedHeaders(name: string, before: string, after: string) {
  const parts = compareTexts(before, after);
  const side = (each: SideName, value: string) =>
    value === '' ? <Empty /> : <Compared parts={parts} side={each} to={searchOfHeader(name, value)} />;
  return { before: side('old', before), after: side('new', after) };
}

/** Two records of one type: texts part by part, others field by field. */
export function comparedRecords(before: RecordEntry, after: RecordEntry) {
  if (isText(before) && isText(after) && isSearchable(before) && isSearchable(after)) {
    const parts = compareTexts(textOf(before), textOf(after));
    const side = (each: SideName, { entries }: { readonly entries: readonly string[] }) => (
      <Compared parts={parts} side={each} to={searchOfText(entries)} />
    );
    return { before: side('old', before), after: side('new', after) };
  }
  return {
    before: <Rdata record={before} other={after} side="old" />,
    after: <Rdata record={after} other={before} side="new" />,
  };
}

function isText(record: RecordEntry): record is RecordEntry & { readonly entries: readonly string[] } {
  return 'entries' in record;
}

function isSearchable({ entries }: { readonly entries: readonly string[] }): boolean {
  return entries.join('').length >= SHORTEST_SEARCHED;
}

interface RdataProps {
  readonly record: RecordEntry;
  /** What it is compared with. */
  readonly other?: RecordEntry;
  readonly side?: SideName;
}

/** A record's rdata, whose addresses, host names and texts lead to who else has them. */
export function Rdata({ record, other, side = 'new' }: RdataProps) {
  if (isText(record)) {
    const text = textOf(record);
    return isSearchable(record) ? (
      <Pivot to={searchOfText(record.entries)} text={text} />
    ) : (
      <Text value={text} />
    );
  }
  const others = new Map(other === undefined ? [] : rdataOf(other));
  const isSame = (name: string, value: unknown) => other === undefined || others.get(name) === value;
  return (
    <>
      {rdataOf(record).map(([name, value], place) => {
        const shown = partsOf(record, name, String(value)).map(({ text, search }, part) =>
          search === null ? <Text key={part} value={text} /> : <Pivot key={part} to={search} text={text} />,
        );
        const Mark = side === 'old' ? 'del' : 'ins';
        return [place > 0 && ' ', isSame(name, value) ? shown : <Mark>{shown}</Mark>];
      })}
    </>
  );
}

/** The API searches for parts of texts of at least so many characters. */
const SHORTEST_SEARCHED = 3;
