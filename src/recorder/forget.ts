import { createHash } from 'node:crypto';
import type { Database } from '../database/client.js';
import { Prisma, type PrismaClient } from '../database/generated/client.js';
import { requireAnswers, type Tables, tablesOf } from '../database/tables.js';
import type { Instant } from '../model/instant.js';
import { retryOnContention } from './contention.js';

export type ForgettingDatabase = Pick<Database, 'writingPrisma' | 'distribution'>;

/**
 * Erases everything that is recorded of domains.
 *
 * Their history is erased first, in one transaction; then, a portion at a time, the names and texts that were of
 * them alone. Where the process ends before, these stay in `erased_text`: no search finds a domain by them, and
 * the next call erases them, whichever domains it is for.
 *
 * @param names canonical names, each once.
 * @param before Only those that were not recorded from then on; absent: all.
 * @returns those that were erased, sorted.
 */
export async function forget(
  database: ForgettingDatabase,
  names: readonly string[],
  before?: Instant,
): Promise<string[]> {
  const { writingPrisma: prisma } = database;
  const erased = await retryOnContention(() =>
    prisma.$transaction((transaction) => eraseHistories(transaction, names, before)),
  );
  while (await eraseTexts(database));
  return erased;
}

type Transaction = Omit<PrismaClient, '$connect' | '$disconnect' | '$on' | '$transaction' | '$extends'>;

/**
 * Erases in a fixed number of statements, however long the histories are. The domains' rows go first: a
 * recorder at work on the same domain holds its row, so that the later statements see, and erase, all that it
 * wrote. A domain that is recorded for the first time between two of the statements has a row when the later
 * one runs, and keeps all that was written with it.
 */
async function eraseHistories(
  transaction: Transaction,
  names: readonly string[],
  before: Instant | undefined,
): Promise<string[]> {
  const isOld = before === undefined ? Prisma.empty : Prisma.sql`AND recorded_at < ${before}`;
  const rows = await transaction.$queryRaw<{ name: string }[]>`
    DELETE FROM domain WHERE name = ANY (${names}) ${isOld} RETURNING name`;
  const erased = rows.map(({ name }) => name).sort();
  await transaction.$executeRaw`INSERT INTO erased_text (kind, text) SELECT '', name FROM unnest(${erased}::text[]) AS name`;
  await transaction.$executeRaw`
    INSERT INTO erased_text (kind, text) SELECT DISTINCT '', host FROM dns_record WHERE domain = ANY (${names}) AND host <> domain`;
  await transaction.$executeRaw`
    INSERT INTO erased_text (kind, text)
    SELECT DISTINCT 'TXT', rdata ->> 'txt' FROM dns_record
     WHERE domain = ANY (${names}) AND type = 'TXT' AND rdata ->> 'txt' IS NOT NULL`;
  await transaction.$executeRaw`
    INSERT INTO erased_text (kind, text)
    SELECT DISTINCT name, value FROM header_change WHERE domain = ANY (${names}) AND value IS NOT NULL`;
  for (const table of ['dns_record', 'header_change', 'site_response', 'earlier_changes'].map(Prisma.raw)) {
    await transaction.$executeRaw`
      DELETE FROM ${table} AS row
       WHERE domain = ANY (${names}) AND NOT EXISTS (SELECT FROM domain WHERE name = row.domain AND name = ANY (${names}))`;
  }
  await eraseInFeed(transaction, names, before);
  return erased;
}

/** In microseconds: a transaction writes the rows of the feed after those of their domains. */
const MAX_TRANSACTION = 86_400_000_000n;

/**
 * Not what is recorded meanwhile, of a domain that has a row then. The feed has no index by domain: it is read
 * as a whole, unless it does not go back as far as the domains.
 *
 * @param before The domains were not recorded from then on; undefined: it is not known.
 */
async function eraseInFeed(
  transaction: Transaction,
  names: readonly string[],
  before: Instant | undefined,
): Promise<void> {
  const oldest = await transaction.changeFeed.findFirst({
    select: { recordedAt: true },
    orderBy: { number: 'asc' },
  });
  if (oldest === null) return;
  if (before !== undefined && oldest.recordedAt > before + MAX_TRANSACTION) return;
  const last = await transaction.changeFeed.findFirst({
    select: { number: true },
    orderBy: { number: 'desc' },
  });
  // Arrays: a list of values has as many parameters, of which a statement takes 32,767.
  const found = await transaction.$queryRaw<{ name: string }[]>`
    SELECT name FROM domain WHERE name = ANY (${names})`;
  const present = new Set(found.map(({ name }) => name));
  await transaction.$executeRaw`
    UPDATE change_feed SET domain = NULL
     WHERE domain = ANY (${names.filter((name) => !present.has(name))}) AND number <= ${last?.number ?? 0n}`;
}

/** A name has no kind. */
type ErasedText = Readonly<Record<'kind' | 'text', string>>;

/** Recorders wait for each portion, as long as for a batch of another recorder: some 0.1 s. */
const TEXTS_AT_ONCE = 1000;

/**
 * Erases a portion of what was of erased domains alone. Under the lock of the tables of names and texts: a
 * recorder that has found its texts there would otherwise lose them.
 *
 * @returns whether there may be more.
 */
async function eraseTexts(database: ForgettingDatabase): Promise<boolean> {
  const { writingPrisma: prisma } = database;
  const portion = await prisma.erasedText.findMany({ orderBy: { number: 'asc' }, take: TEXTS_AT_ONCE });
  if (portion.length === 0) return false;
  const isIn = { number: { in: portion.map(({ number }) => number) } };
  // Recorders wait while the lock is held: only what was not used before it is looked for under it.
  const unused = await unusedAmong(prisma, database, portion);
  await retryOnContention(() =>
    prisma.$transaction(async (transaction) => {
      if (unused.length > 0) {
        await transaction.$executeRaw`LOCK TABLE known_name, known_text IN SHARE ROW EXCLUSIVE MODE`;
        await deleteTexts(transaction, await unusedAmong(transaction, database, unused));
      }
      await transaction.erasedText.deleteMany({ where: isIn });
    }),
  );
  return portion.length === TEXTS_AT_ONCE;
}

async function deleteTexts(transaction: Transaction, unused: readonly ErasedText[]): Promise<void> {
  const names = unused.filter(({ kind }) => kind === '').map(({ text }) => text);
  const texts = unused.filter(({ kind }) => kind !== '');
  await transaction.$executeRaw`DELETE FROM known_name WHERE name = ANY (${names})`;
  await transaction.$executeRaw`
    DELETE FROM known_text
     USING unnest(${texts.map(({ kind }) => kind)}::text[], ${texts.map(({ text }) => text)}::text[]) AS unused (kind, text)
     WHERE known_text.kind = unused.kind AND digest = substring(sha256(convert_to(unused.text, 'UTF8')) FOR 16)`;
}

const KINDS = new Map([
  ['', 'name'],
  ['TXT', 'TXT'],
]);

function kindOf({ kind }: ErasedText): string {
  return KINDS.get(kind) ?? 'header';
}

/** As the indexes of header fields have it: the name of the field, and its value. */
function keyOf(erased: ErasedText): string {
  return kindOf(erased) === 'header' ? `${erased.kind}\n${erased.text}` : erased.text;
}

/** In which rows domains have names and texts. An index has the text, or a hash of it. */
interface Use {
  readonly kind: string;
  readonly table: string;
  readonly text: string;
  readonly condition: string;
  readonly isHashed?: boolean;
}

const HEADER_TEXT = "name || E'\\n' || value";
const USES: readonly Use[] = [
  { kind: 'name', table: 'domain', text: 'name', condition: 'true' },
  { kind: 'name', table: 'dns_record', text: 'host', condition: 'host <> domain' },
  { kind: 'TXT', table: 'dns_record', text: "rdata ->> 'txt'", condition: "type = 'TXT'", isHashed: true },
  {
    kind: 'header',
    table: 'header_change',
    text: HEADER_TEXT,
    condition: 'value IS NOT NULL',
    isHashed: true,
  },
];

async function unusedAmong(
  transaction: Transaction,
  { distribution }: ForgettingDatabase,
  texts: readonly ErasedText[],
): Promise<readonly ErasedText[]> {
  const tables = tablesOf(distribution);
  let unused = texts;
  for (const use of USES) {
    const sought = unused.filter((each) => kindOf(each) === use.kind);
    if (sought.length === 0) continue;
    const present = await findPresent(transaction, tables, use, sought.map(keyOf));
    unused = unused.filter((each) => kindOf(each) !== use.kind || !present.has(keyOf(each)));
  }
  return unused;
}

/** @returns those of the texts that a row has. @throws Error as requireAnswers(). */
async function findPresent(
  transaction: Transaction,
  tables: Tables,
  { table, text, condition, isHashed = false }: Use,
  texts: readonly string[],
): Promise<ReadonlySet<string>> {
  // In place of a text of any length, a hash and a digest go to the nodes of a cluster.
  const digest = (each: string) => createHash('sha256').update(each).digest('hex');
  const ids = new Map(texts.map((each) => [isHashed ? digest(each) : each, each]));
  const sought = [...ids.values()];
  const keys = isHashed ? await hashesOf(transaction, sought) : sought;
  const [key, id, type] = isHashed
    ? [`hashtextextended(${text}, 0)`, `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`, 'bigint']
    : [text, text, 'text'];
  // Each is looked up by an index, up to the first row that has it: a join might read whole tables, and all
  // rows of what is common.
  const answer = tables.eachPart({
    table,
    columns: 'id text',
    query: (part) => Prisma.sql`
      SELECT id, 'match' AS outcome
        FROM unnest(${keys}::${Prisma.raw(type)}[], ${[...ids.keys()]}::text[]) AS sought (key, id)
       WHERE (SELECT true FROM ${part}
               WHERE ${Prisma.raw(condition)} AND ${Prisma.raw(key)} = sought.key AND ${Prisma.raw(id)} = sought.id LIMIT 1)`,
  });
  const rows = await transaction.$queryRaw<
    { id: string; outcome: string }[]
  >`WITH ${answer} SELECT * FROM answer`;
  requireAnswers(rows.map(({ outcome }) => outcome));
  return new Set(rows.map((row) => ids.get(row.id) ?? ''));
}

async function hashesOf(transaction: Transaction, texts: readonly string[]): Promise<bigint[]> {
  const rows = await transaction.$queryRaw<{ hash: bigint }[]>`
    SELECT hashtextextended(text, 0) AS hash FROM unnest(${texts}::text[]) WITH ORDINALITY AS text (text, place)
     ORDER BY place`;
  return rows.map(({ hash }) => hash);
}
