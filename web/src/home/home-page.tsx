import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf, useView } from '../address.js';
import { anyQuery, basePath } from '../api.js';
import { OverviewDocument, type OverviewQuery } from '../operations.generated.js';
import { Copyable, Failure, formatNumber, Section, Time } from '../parts.js';
import { useAnswer } from '../use-answer.js';
import { LatestChanges } from './latest-changes.js';
import { questionsOfAddress } from './questions.js';
import { Results } from './results.js';

/** How long someone pauses who has finished a word, in milliseconds. */
const PAUSE = 250;

/** How often the numbers are read again while changes arrive, in milliseconds: they cost as much as many searches. */
const COUNTED_EVERY = 15_000;

/** The start: the search, what is known, and what changes. */
export function HomePage() {
  const { parameters } = useView();
  const questions = questionsOfAddress(parameters);
  const [occasion, setOccasion] = useState(0);
  const isSearching = questions.length > 0;
  const { data, error, again } = useAnswer(OverviewDocument, isSearching ? null : {}, occasion);
  const isEmpty = data?.statistics?.domains === 0;
  const counting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    document.title = 'Domain Metadata Service';
    return () => clearTimeout(counting.current);
  }, []);
  const countAgain = () => {
    if (counting.current !== undefined) return;
    const count = () => {
      counting.current = undefined;
      setOccasion((before) => before + 1);
    };
    counting.current = setTimeout(count, isEmpty ? 0 : COUNTED_EVERY);
  };
  return (
    <>
      <h1 class="visually-hidden">Search the history of domains</h1>
      <div class="home">
        <div>
          <SearchBox />
          {questions.length === 0 && (parameters['q'] ?? '').trim() !== '' && <NothingToSearch />}
          {error !== undefined && <Failure error={error} again={again} />}
          {isEmpty && <FirstSteps />}
          {isSearching ? (
            <Results questions={questions} />
          ) : (
            !isEmpty && <Overview statistics={data?.statistics} />
          )}
          <Links />
        </div>
        <LatestChanges onChange={countAgain} hasHistory={(data?.statistics?.changes ?? 0) > 0} />
      </div>
    </>
  );
}

function SearchBox() {
  const { parameters, change } = useView();
  const { q = '' } = parameters;
  const written = q === '' ? textOfLink(parameters) : q;
  const [text, setText] = useState(written);
  const sent = useRef(written);
  // The back button changes it, too: but not while it is behind what is typed.
  useEffect(() => {
    if (written !== sent.current) setText(written);
    sent.current = written;
  }, [written]);
  useEffect(() => {
    if (text === sent.current) return undefined;
    const search = () => {
      // A search that is refined is one step for the back button.
      const refines = sent.current !== '';
      sent.current = text;
      change({ ...NO_LINK, q: text }, refines);
    };
    const timer = setTimeout(search, PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <search>
      <form class="search" onSubmit={(event) => event.preventDefault()}>
        <label for="search">Search</label>
        <input
          id="search"
          type="search"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          placeholder="example.com, *shop*, 192.0.2.0/24, server: nginx"
          aria-describedby="search-help"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          autofocus
        />
        <p id="search-help" class="muted">
          A name or a part of it, an address or network, a name server or mail server, a text of TXT records,
          or a header and a part of its value.
        </p>
      </form>
    </search>
  );
}

/** What is asked for by links. */
const NO_LINK = {
  ...{ header: undefined, value: undefined, contains: undefined, ip: undefined, network: undefined },
  ...{ target: undefined, text: undefined, host: undefined },
};

/** How a person would write what a link asks for. */
function textOfLink({ header, value, contains, ip, network, target, text, host }: View): string {
  if (header !== undefined) return `${header}: ${value ?? contains ?? ''}`;
  return ip ?? network ?? target ?? text ?? host ?? '';
}

type View = Readonly<Record<string, string | undefined>>;

function NothingToSearch() {
  return (
    <p class="notice" role="status">
      Write at least three characters of a name, a text or a value of a header.
    </p>
  );
}

function Overview({ statistics }: { readonly statistics: OverviewQuery['statistics'] | undefined }) {
  return (
    <>
      <dl class="numbers" aria-busy={statistics === undefined}>
        <Figure name="Domains" value={statistics?.domains} />
        <Figure name="DNS records" value={statistics?.dnsRecords} />
        <Figure name="HTTP headers" value={statistics?.httpHeaders} />
        <Figure name="Changes and first sights" value={statistics?.changes} />
        <div>
          <dt>Since</dt>
          <dd>
            {statistics?.firstObserved == null ? '–' : <Time value={statistics.firstObserved} isDate />}
          </dd>
        </div>
      </dl>
      <Section title="What to search for">
        <ul class="examples">
          {EXAMPLES.map(([text, what]) => (
            <li key={text}>
              <a href={addressOf('/', { q: text })}>
                <code>{text}</code>
              </a>{' '}
              {what}
            </li>
          ))}
        </ul>
      </Section>
    </>
  );
}

const EXAMPLES = [
  ['example', 'domains with it in their names'],
  ['*.example.com', 'domains below a name'],
  ['192.0.2.7', 'who has an address'],
  ['192.0.2.0/24', 'who has an address of a network'],
  ['ns1.example.net', 'whose name servers, mail servers or aliases it is'],
  ['v=spf1', 'whose TXT records have a text'],
  ['server: nginx', 'whose header has a value'],
] as const;

function Figure({ name, value }: { readonly name: string; readonly value: number | undefined }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value === undefined ? '–' : formatNumber(value)}</dd>
    </div>
  );
}

const STEPS = [
  ['Observe a domain now', 'npx dms observe example.com'],
  ['Observe domains again and again', 'npx dms watch add example.com --every 6h'],
  ['Import observations that you have', 'npx dms import observations.ndjson'],
] as const;

/** What to do with an empty database. */
function FirstSteps() {
  return (
    <Section title="Nothing is recorded yet">
      <p>Run one of these in the folder of the service. What is recorded appears here by itself.</p>
      <ul class="steps">
        {STEPS.map(([what, command]) => (
          <li key={command}>
            <p>{what}</p>
            <Copyable text={command} label="the command" />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Links() {
  return (
    <footer class="links">
      <nav aria-label="APIs and documents">
        <ul>
          {anyQuery && (
            <>
              <li>
                <a href={`${basePath}/graphiql`}>GraphiQL</a> tries GraphQL queries, with examples
              </li>
              <li>
                <a href={`${basePath}/graphql`}>Apollo Sandbox</a> does, too; it is loaded from Apollo’s
                servers and needs the internet
              </li>
            </>
          )}
          <li>
            <a href={`${basePath}/api/v1/docs`}>REST API</a> lists and tries its operations
          </li>
          <li>
            <a href={`${basePath}/docs/`}>Documents</a> say how to observe, import and ask
          </li>
        </ul>
      </nav>
    </footer>
  );
}
