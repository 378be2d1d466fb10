import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError } from './api.js';
import { formatTime, microsecondsOf, type Zone } from './time.js';
import { Text } from './values.js';

const ZONE_KEY = 'dms-zone';

/** How all times are shown. */
export const zone = signal<Zone>(localStorage.getItem(ZONE_KEY) === 'local' ? 'local' : 'UTC');

/** Chooses how times are shown, from now on. */
export function setZone(chosen: Zone): void {
  if (chosen === 'UTC') localStorage.removeItem(ZONE_KEY);
  else localStorage.setItem(ZONE_KEY, chosen);
  zone.value = chosen;
}

/** A time of the API. Its title is the exact one. */
export function Time({ value, isDate = false }: { readonly value: string; readonly isDate?: boolean }) {
  const text = formatTime(microsecondsOf(value), zone.value);
  return (
    <time dateTime={value} title={value}>
      {isDate ? text.slice(0, 10) : text}
    </time>
  );
}

/** What went wrong, and what to do. */
export function Failure({ error, again }: { readonly error: Error; readonly again?: () => void }) {
  return (
    <p class="failure" role="alert">
      {error instanceof ApiError ? (
        <Text value={error.message} />
      ) : (
        'The service cannot be reached. Is it running?'
      )}{' '}
      {again !== undefined && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </p>
  );
}

/** While something is read. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="muted loading" role="status">
      Loading {what}…
    </p>
  );
}

/** A command, with a button that copies it. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <span class="copyable">
      <code>{text}</code>
      <CopyButton text={text} label="Copy" title={`Copy ${label}`} />
    </span>
  );
}

interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
  readonly title: string;
}

/** Copies a text; where the browser does not allow it, shows it to be copied by hand. */
export function CopyButton({ text, label, title }: CopyButtonProps) {
  const [state, setState] = useState<'' | 'copied' | 'shown'>('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      // Only pages of HTTPS and of this computer may write there.
      setState('shown');
    }
  };
  return (
    <>
      <button type="button" onClick={copy} title={title}>
        {state === 'copied' ? 'Copied' : label}
      </button>
      {state === 'shown' && (
        <input
          value={text}
          readOnly
          aria-label={title}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
      )}
    </>
  );
}

/** A part of the page with its heading. */
export function Section({
  title,
  extra,
  children,
}: {
  readonly title: string;
  readonly extra?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <header class="section-head">
        <h2 id={id}>
          <Text value={title} />
        </h2>
        {extra}
      </header>
      {children}
    </section>
  );
}

/** What may be wider than the screen: it is scrolled by keys, too. */
export function Scroll({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, it could not be scrolled by keys
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

interface MoreProps {
  readonly isLoading: boolean;
  readonly more: () => void;
  readonly label: string;
}

/** Calls `more` when it comes into view, and by a click where it stays there: a filter may leave nothing of what was loaded. */
export function MoreButton({ isLoading, more, label }: MoreProps) {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef({ isLoading, more });
  latest.current = { isLoading, more };
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      const isSeen = entries.some(({ isIntersecting }) => isIntersecting);
      if (isSeen && !latest.current.isLoading) latest.current.more();
    });
    if (button.current !== null) observer.observe(button.current);
    return () => observer.disconnect();
  }, []);
  return (
    <p class="more">
      <button type="button" ref={button} onClick={() => !isLoading && more()} aria-disabled={isLoading}>
        {isLoading ? 'Loading…' : label}
      </button>
    </p>
  );
}

const NUMBERS = new Intl.NumberFormat('en-US');

export function formatNumber(number: number): string {
  return NUMBERS.format(number);
}

/** `1 record`, `2 records`. */
export function counted(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}
