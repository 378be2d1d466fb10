import { useEffect, useRef } from 'preact/hooks';
import { ErrorBoundary, LocationProvider, lazy } from 'preact-iso';
import { addressOf, useView } from './address.js';
import { basePath, limitedUntil, setToken, token, tokenRequest } from './api.js';
import { HomePage } from './home/home-page.js';
import { zone } from './parts.js';
import { Text } from './values.js';

const DomainPage = lazy(() => import('./domain/domain-page.js').then((module) => module.DomainPage));

/** Links to other pages of the service load these. */
const OWN_ADDRESSES = new RegExp(`^${basePath.replaceAll('.', '\\.')}/(?:\\?|$|domains/)`);

export function App() {
  return (
    <LocationProvider scope={OWN_ADDRESSES}>
      <Header />
      <TokenForm />
      <LimitNote />
      <main id="main">
        <ErrorBoundary>
          <CurrentPage />
        </ErrorBoundary>
      </main>
    </LocationProvider>
  );
}

function CurrentPage() {
  const { path } = useView();
  const name = domainIn(path);
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

function Header() {
  return (
    <header class="page-head">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <a class="brand" href={addressOf('/')}>
        Domain Metadata Service
      </a>
      <nav aria-label="Settings">
        <button
          type="button"
          aria-pressed={zone.value === 'local'}
          onClick={() => {
            zone.value = zone.value === 'UTC' ? 'local' : 'UTC';
          }}
        >
          {zone.value === 'UTC' ? 'Times in UTC' : 'Local times'}
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
    if (reason !== '') input.current?.focus();
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
      <button type="submit">Use the token</button>
    </form>
  );
}

/** Says when requests continue. */
function LimitNote() {
  const until = limitedUntil.value;
  if (until === 0) return null;
  return (
    <p class="notice" role="status">
      The rate limit of this address is used up. Requests continue at {new Date(until).toLocaleTimeString()}
      {token.value === '' ? '; a token has a limit of its own.' : '.'}
    </p>
  );
}
