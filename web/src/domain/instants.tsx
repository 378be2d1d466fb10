import { useEffect, useState } from 'preact/hooks';
import type { Parameters, View } from '../address.js';
import { zone } from '../parts.js';
import { readTime, timestampOf } from '../time.js';

/** Which times are looked at: the present, one, or the difference of two. All are Timestamps of the API. */
export type Moments =
  | { readonly mode: 'now' }
  | { readonly mode: 'one'; readonly at: string }
  | { readonly mode: 'two'; readonly from: string; readonly to: string };

/** The times of an address, as a person may have written them; of two, the earlier one first. */
export function momentsOf({ at = '', from = '', to = '' }: Parameters): Moments {
  const [one = Number.NaN, two = Number.NaN] = [readTime(from), readTime(to)].sort((a, b) => a - b);
  if (one <= two) return { mode: 'two', from: timestampOf(one), to: timestampOf(two) };
  const instant = readTime(at);
  return Number.isNaN(instant) ? { mode: 'now' } : { mode: 'one', at: timestampOf(instant) };
}

/** Whether an address has a time that is none. */
export function isInvalid({ at, from, to }: Parameters): boolean {
  return [at, from, to].some((text) => text !== undefined && Number.isNaN(readTime(text)));
}

interface InstantsProps {
  readonly moments: Moments;
  /** Whether the address has a time that is none. */
  readonly isInvalid: boolean;
  /** When something changed last, and before that. */
  readonly latest: readonly [newest: string, before: string] | null;
  readonly change: View['change'];
  readonly onStep: (step: -1 | 1) => void;
}

/** Chooses the times that are looked at: written, or by steps from change to change. */
export function Instants({ moments, isInvalid: hasError, latest, change, onStep }: InstantsProps) {
  const now = timestampOf(Date.now() * 1000);
  const pair = () => {
    if (moments.mode === 'one') return { at: undefined, from: moments.at, to: now };
    const [newest, before] = latest ?? [now, now];
    return { at: undefined, from: before, to: newest };
  };
  return (
    <section class="card instants" aria-label="Time">
      <fieldset class="group" aria-label="What to show">
        <button
          type="button"
          aria-pressed={moments.mode === 'now'}
          onClick={() => change({ at: undefined, from: undefined, to: undefined })}
        >
          Latest
        </button>
        <button
          type="button"
          aria-pressed={moments.mode === 'one'}
          onClick={() =>
            moments.mode !== 'one' &&
            change({
              at: moments.mode === 'two' ? moments.to : (latest?.[0] ?? now),
              from: undefined,
              to: undefined,
            })
          }
        >
          At a time
        </button>
        <button
          type="button"
          aria-pressed={moments.mode === 'two'}
          onClick={() => moments.mode !== 'two' && change(pair())}
        >
          Between two times
        </button>
      </fieldset>
      {hasError && (
        <p class="failure" role="alert">
          A time in the address is not valid. Write one such as 2024-03-01 or 2024-03-01T10:20:30Z.
        </p>
      )}
      {moments.mode === 'one' && <TimeField label="At" value={moments.at} onTime={(at) => change({ at })} />}
      {moments.mode === 'two' && (
        <>
          <TimeField
            label="From"
            value={moments.from}
            onTime={(from) => change(from <= moments.to ? { from } : { from: moments.to, to: from })}
          />
          <TimeField
            label="To"
            value={moments.to}
            onTime={(to) => change(to >= moments.from ? { to } : { from: to, to: moments.from })}
          />
        </>
      )}
      <fieldset class="group" aria-label="Steps">
        <button type="button" onClick={() => onStep(-1)}>
          ← Change before
        </button>
        <button type="button" onClick={() => onStep(1)} aria-disabled={moments.mode === 'now'}>
          Change after →
        </button>
      </fieldset>
    </section>
  );
}

interface TimeFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onTime: (time: string) => void;
}

function TimeField({ label, value, onTime }: TimeFieldProps) {
  const [text, setText] = useState(value);
  const [isWrong, setWrong] = useState(false);
  useEffect(() => {
    setText(value);
    setWrong(false);
  }, [value]);
  const submit = () => {
    const time = readTime(text);
    setWrong(Number.isNaN(time));
    if (!Number.isNaN(time) && text !== value) onTime(timestampOf(time));
  };
  return (
    <label class="time-field">
      {label} <span class="muted">(UTC)</span>
      <input
        value={text}
        size={27}
        spellcheck={false}
        aria-invalid={isWrong}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onChange={submit}
      />
      {zone.value === 'local' && <span class="muted">{new Date(value).toLocaleString()}</span>}
      {isWrong && (
        <span class="failure" role="alert">
          Write a time such as 2024-03-01 or 2024-03-01 10:20.
        </span>
      )}
    </label>
  );
}
