import { useState } from 'preact/hooks';
import { MoreButton, Scroll, Time } from '../parts.js';
import { formatDuration, timestampOf } from '../time.js';
import { HeaderValue, Rdata, Text } from '../values.js';
import type { Bar, Lane } from './history.js';

const STEP = 100;

/** The timeline as a table: each stay of a record, and each time in which a header had a value. */
export function TimelineTable({ lanes }: { readonly lanes: readonly Lane[] }) {
  const [count, setCount] = useState(STEP);
  const bars = lanes.flatMap((lane) => lane.bars.map((bar) => ({ lane, bar })));
  return (
    <Scroll label="Timeline as a table">
      <table class="cards">
        <thead>
          <tr>
            {['What', 'Value', 'From', 'Last seen', 'Removed', 'For'].map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars.slice(0, count).map(({ lane, bar }) => (
            <tr key={`${lane.id} ${bar.from} ${bar.value}`}>
              <th scope="row">
                <span class={lane.kind === 'header' ? 'tag header' : 'tag'}>{lane.name}</span>{' '}
                <Text value={lane.owner} />
              </th>
              <td data-label="Value">
                <BarValue lane={lane} bar={bar} />
              </td>
              <td data-label="From">
                {bar.from === null ? 'earlier' : <Time value={timestampOf(bar.from)} />}
              </td>
              <td data-label="Last seen">
                <Time value={timestampOf(bar.lastSeen)} />
              </td>
              <td data-label="Removed">{bar.to === null ? '–' : <Time value={timestampOf(bar.to)} />}</td>
              <td data-label="For">{durationOf(bar)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {count < bars.length && (
        <MoreButton isLoading={false} more={() => setCount(count + STEP)} label="Show more" />
      )}
    </Scroll>
  );
}

/** How long it was there: at least, and at most. */
function durationOf({ from, lastSeen, to }: Bar): string {
  if (from === null || to === null) return '';
  const [least, most] = [formatDuration(lastSeen - from), formatDuration(to - from)];
  return least === most ? most : `${least} to ${most}`;
}

/** The value of a bar, whose parts lead to who else has them. */
export function BarValue({ lane, bar }: { readonly lane: Lane; readonly bar: Bar }) {
  return bar.record === undefined ? (
    <HeaderValue name={lane.name} value={bar.value} />
  ) : (
    <Rdata record={bar.record} />
  );
}
