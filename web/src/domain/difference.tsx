import { DomainDifferenceDocument } from '../operations.generated.js';
import { Failure, Loading, Scroll, Section, zone } from '../parts.js';
import { compareTypes, keyOf, type RecordEntry, rrsetOf, textOf } from '../records.js';
import { formatTime, microsecondsOf } from '../time.js';
import { useAnswer } from '../use-answer.js';
import { comparedHeaders, comparedRecords, HeaderValue, Owner, Rdata, Text } from '../values.js';
import { Exports } from './exports.js';
import { type Filter, matchesHeader, matchesType } from './filter.js';
import { groupBy } from './history.js';

interface DifferenceProps {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly filter: Filter;
  /** Reads again when it changes. */
  readonly occasion: number;
}

/** Of its table. */
const COLUMNS = ['domain', 'kind', 'name', 'type', 'old', 'new'];

/** A time in a heading. */
function titleOf(time: string): string {
  return formatTime(microsecondsOf(time), zone.value);
}

/** What is different between two instants, old and new side by side. */
export function Difference({ name, from, to, filter, occasion }: DifferenceProps) {
  const { data, error, isLoading, again } = useAnswer(DomainDifferenceDocument, { name, from, to }, occasion);
  const diff = data?.domain?.diff;
  const removed = diff?.dnsRecordsRemoved?.filter(({ type }) => matchesType(filter, type)) ?? [];
  const added = diff?.dnsRecordsAdded?.filter(({ type }) => matchesType(filter, type)) ?? [];
  const headers = diff?.httpHeaders?.filter((header) => matchesHeader(filter, header.name)) ?? [];
  const pairs = pairsOf(removed, added);
  return (
    <Section
      title={`From ${titleOf(from)} to ${titleOf(to)}`}
      extra={
        <Exports
          name={name}
          view={{ mode: 'two', from, to }}
          table={() => ({
            columns: COLUMNS,
            rows: [
              ...pairs.map(({ type, host, old, current }) => ({
                ...{ domain: name, kind: 'DNS', name: host, type, old: old?.rdata, new: current?.rdata },
              })),
              ...headers.map((header) => ({
                ...{ domain: name, kind: 'HTTP', name: header.name, old: header.old, new: header.new },
              })),
            ],
          })}
          data={diff ?? {}}
          isComplete
        />
      }
    >
      {error !== undefined && <Failure error={error} again={again} />}
      {isLoading && diff === undefined && <Loading what="the difference" />}
      {diff !== undefined && pairs.length + headers.length === 0 && (
        <p class="muted">Nothing is different.</p>
      )}
      {pairs.length + headers.length > 0 && (
        <Scroll label="Difference">
          <table class="difference">
            <thead>
              <tr>
                <th scope="col">What</th>
                <th scope="col">Before</th>
                <th scope="col">After</th>
              </tr>
            </thead>
            <tbody>
              {pairs.map((pair) => (
                <tr key={`${pair.type} ${pair.host} ${keyOf((pair.old ?? pair.current) as RecordEntry)}`}>
                  <th scope="row">
                    <span class="tag">{pair.type}</span>{' '}
                    {pair.host === name ? <Text value={pair.host} /> : <Owner name={pair.host} />}
                  </th>
                  <Values {...pair} />
                </tr>
              ))}
              {headers.map((header) => (
                <tr key={header.name}>
                  <th scope="row">
                    <span class="tag header">{header.name}</span>
                  </th>
                  <HeaderValues name={header.name} before={header.old ?? null} after={header.new ?? null} />
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Section>
  );
}

/** A record that went and the one that came in its place; null where there is none. */
interface Pair {
  readonly type: string;
  readonly host: string;
  readonly old: RecordEntry | null;
  readonly current: RecordEntry | null;
}

/**
 * Pairs the records of each RRset that are versions of one: texts that begin alike, and one that went where one came. Others
 * come by themselves, since a set has no order.
 */
function pairsOf(removed: readonly RecordEntry[], added: readonly RecordEntry[]): Pair[] {
  const olds = groupBy(removed, rrsetOf);
  const news = groupBy(added, rrsetOf);
  const sets = [...new Set([...olds.keys(), ...news.keys()])];
  const pairs = sets.flatMap((set) => {
    const [before, left] = [olds.get(set) ?? [], [...(news.get(set) ?? [])]];
    const isOne = before.length === 1 && left.length === 1;
    const ofOld = before.map((old): Pair => {
      const place = left.findIndex((record) => isOne || isVersion(old, record));
      const [current = null] = place === -1 ? [] : left.splice(place, 1);
      return { type: old.type, host: old.host, old, current };
    });
    return [
      ...ofOld,
      ...left.map((current) => ({ type: current.type, host: current.host, old: null, current })),
    ];
  });
  return pairs.sort((one, other) => compareTypes(one.type, other.type));
}

/** Whether two texts begin alike, such as by `v=spf1` or `google-site-verification=`. */
function isVersion(one: RecordEntry, other: RecordEntry): boolean {
  const beginning = (record: RecordEntry) => /^"?[^\s=;:]*(?:=[^\s;]*(?=[\s;]))?/.exec(textOf(record))?.[0];
  return one.type === 'TXT' && beginning(one) === beginning(other);
}

function Values({ old, current }: Pair) {
  const compared = old !== null && current !== null ? comparedRecords(old, current) : null;
  return (
    <>
      <td>{compared?.before ?? (old !== null && <del>{<Rdata record={old} />}</del>)}</td>
      <td>{compared?.after ?? (current !== null && <ins>{<Rdata record={current} />}</ins>)}</td>
    </>
  );
}

interface HeaderValuesProps {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

function HeaderValues({ name, before, after }: HeaderValuesProps) {
  const compared = before !== null && after !== null ? comparedHeaders(name, before, after) : null;
  return (
    <>
      <td>
        {compared?.before ?? (before !== null && <del>{<HeaderValue name={name} value={before} />}</del>)}
      </td>
      <td>{compared?.after ?? (after !== null && <ins>{<HeaderValue name={name} value={after} />}</ins>)}</td>
    </>
  );
}
