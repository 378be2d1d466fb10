import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorBoundary, LocationProvider, lazy, useLocation } from 'preact-iso';
import { addressOf, useView } from './address.js';
import { basePath, limitedUntil, setToken, token, tokenRequest } from './api.js';
import { HomePage } from './home/home-page.js';
import { setZone, zone } from './parts.js';
import { formatTime } from './time.js';
import { Text } from './values.js';

const DomainPage = lazy(() =>
  import('./domain/domain-page.js').then(
    (module) => module.DomainPage,
    () => Outdated,
  ),
);

/** Its name has a digest: after an upgrade of the service, an open page names one that is gone. */
function Outdated() {
  return (
    <p class="notice" role="alert">
      This part of the page cannot be loaded: the service is not reachable, or has a new version.{' '}
      <button type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </p>
  );
}

/** Links to other pages of the service load these. */
const OWN_ADDRESSES = new RegExp(`^${basePath.replaceAll('.', '\\.')}/(?:\\?|$|domains/)`);

export function App() {
  return (
    <LocationProvider scope={OWN_ADDRESSES}>
      <Header />
      <TokenForm />
      <LimitNote />
      <main id="main">
        <Guarded />
      </main>
    </LocationProvider>
  );
}

/** The page of the address; after an error, a note instead of it, until the address changes. */
function Guarded() {
  const { url } = useLocation();
  const [problem, setProblem] = useState<{ readonly url: string; readonly error: Error } | null>(null);
  if (problem?.url === url) {
    return (
      <p class="notice" role="alert">
        This view cannot be shown: <Text value={problem.error.message} />.{' '}
        <a href={addressOf('/')}>Go to the start</a>
      </p>
    );
  }
  return (
    <ErrorBoundary onError={(error) => setProblem({ url, error })}>
      <CurrentPage />
    </ErrorBoundary>
  );
}

function CurrentPage() {
  const { path } = useView();
  const name = domainIn(path);
  useEffect(() => {
    const of = name === null ? '' : `/domain/${encodeURIComponent(name)}`;
    const link = document.querySelector('link[type="application/atom+xml"]');
    link?.setAttribute('href', addressOf(`/api/v1${of}/changes.atom`));
  }, [name]);
  return name === null ? <HomePage /> : <DomainPage key={name} name={name} />;
}

function domainIn(path: string): string | null {
  if (!path.startsWith('/domains/')) return null;
  const part = path.slice('/domains/'.length);
  try {
    return decodeURIComponent(part);
  } catch {
    // Not UTF-8: the API says what is wrong with it.
    return part;
  }
}

/** The search of the start, for other pages. */
function SmallSearch() {
  const { route } = useLocation();
  const input = useRef<HTMLInputElement>(null);
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          route(addressOf('/', { q: input.current?.value }));
        }}
      >
        <input
          ref={input}
          type="search"
          aria-label="Search"
          placeholder="Search"
          autocapitalize="none"
          spellcheck={false}
        />
      </form>
    </search>
  );
}

function Header() {
  const { path } = useView();
  return (
    <header class="page-head">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <a class="brand" href={addressOf('/')}>
        Domain Metadata Service
      </a>
      {path !== '/' && <SmallSearch />}
      <nav aria-label="Settings">
        <button
          type="button"
          aria-pressed={zone.value === 'local'}
          onClick={() => {
            setZone(zone.value === 'UTC' ? 'local' : 'UTC');
          }}
        >
          Local times
        </button>
        {token.value !== '' && (
          <button type="button" onClick={() => setToken('')}>
            Forget the token
          </button>
        )}
      </nav>
    </header>
  );
}

/** Asks for a token where the API wants one. */
function TokenForm() {
  const input = useRef<HTMLInputElement>(null);
  const reason = tokenRequest.value;
  useEffect(() => {
    if (reason !== '' && document.activeElement === document.body) input.current?.focus();
  }, [reason]);
  if (reason === '') return null;
  return (
    <form
      class="notice"
      onSubmit={(event) => {
        event.preventDefault();
        setToken(input.current?.value.trim() ?? '');
      }}
    >
      <p>
        <Text value={reason} /> Make a token with <code>npx dms token create --name browser</code>. It is kept
        until this tab is closed.
      </p>
      <label>
        Access token
        <input ref={input} type="password" autocomplete="off" required />
      </label>
      <button type="submit">Use the token</button>{' '}
      <button
        type="button"
        onClick={() => {
          tokenRequest.value = '';
        }}
      >
        Close
      </button>
    </form>
  );
}

/** Says when requests continue. */
function LimitNote() {
  const until = limitedUntil.value;
  if (until === 0) return null;
  return (
    <p class="notice" role="status">
      The rate limit of this address is used up. Requests continue at{' '}
      {formatTime(until * 1000, zone.value).slice(11)}
      {token.value === '' ? '; a token has a limit of its own.' : '.'}
    </p>
  );
}
