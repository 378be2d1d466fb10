import { useMemo } from 'preact/hooks';
import { type Parameters, useView } from '../address.js';
import { compareTypes } from '../records.js';
import { Text } from '../values.js';
import type { Change, Lane, LoadedHistory } from './history.js';

/** Which types of records and which headers are shown; with neither, all are. */
export interface Filter {
  readonly types: ReadonlySet<string>;
  readonly headers: ReadonlySet<string>;
}

const listOf = (text = '') => new Set(text.split(' ').filter((name) => name !== ''));

export function filterOf({ types, headers }: Parameters): Filter {
  return { types: listOf(types), headers: listOf(headers) };
}

function isAll({ types, headers }: Filter): boolean {
  return types.size + headers.size === 0;
}

export function matchesType(filter: Filter, type: string): boolean {
  return isAll(filter) || filter.types.has(type);
}

export function matchesHeader(filter: Filter, name: string): boolean {
  return isAll(filter) || filter.headers.has(name);
}

export function matchesLane(filter: Filter, { kind, name }: Lane): boolean {
  return kind === 'header' ? matchesHeader(filter, name) : matchesType(filter, name);
}

export function matchesChange(filter: Filter, change: Change): boolean {
  if ('record' in change) return matchesType(filter, change.record.type);
  return 'name' in change ? matchesHeader(filter, change.name) : isAll(filter);
}

/** Chooses types and headers, of the timeline, the state, the difference and the changes. */
export function FilterChoice({
  history,
  filter,
}: {
  readonly history: LoadedHistory;
  readonly filter: Filter;
}) {
  const { change } = useView();
  const { types, headers } = useMemo(() => choicesOf(history), [history]);
  const count = filter.types.size + filter.headers.size;
  const toggle = (parameter: 'types' | 'headers', name: string) => {
    const chosen = new Set(filter[parameter]);
    if (!chosen.delete(name)) chosen.add(name);
    change({ [parameter]: [...chosen].join(' ') || undefined });
  };
  return (
    <>
      <button type="button" popovertarget="filter">
        {count === 0 ? 'All types and headers' : `${count} of the types and headers`}
      </button>
      <div class="filter-choices" id="filter" popover="auto">
        <button type="button" onClick={() => change({ types: undefined, headers: undefined })}>
          Show all
        </button>
        {(
          [
            ['types', 'DNS types', types],
            ['headers', 'HTTP headers', headers],
          ] as const
        ).map(([parameter, title, names]) => (
          <fieldset key={parameter}>
            <legend>{title}</legend>
            {names.map((name) => (
              <label key={name}>
                <input
                  type="checkbox"
                  checked={filter[parameter].has(name)}
                  onChange={() => toggle(parameter, name)}
                />
                <Text value={name} />
              </label>
            ))}
          </fieldset>
        ))}
      </div>
    </>
  );
}

function choicesOf({ changes, records, headers }: LoadedHistory) {
  const types = new Set(records.map(({ type }) => type));
  const names = new Set(headers.map(({ name }) => name));
  for (const change of changes) {
    if ('record' in change) types.add(change.record.type);
    else if ('name' in change) names.add(change.name);
  }
  return { types: [...types].sort(compareTypes), headers: [...names].sort() };
}
