import { anyQuery, basePath, token } from '../api.js';
import { csvOf, type Table } from '../csv.js';
import {
  DomainDifferenceDocument,
  DomainHeadersDocument,
  DomainRecordsDocument,
} from '../operations.generated.js';
import { CopyButton } from '../parts.js';
import type { Moments } from './instants.js';

interface ExportsProps {
  readonly name: string;
  readonly view: Moments;
  readonly table: () => Table;
  readonly data: unknown;
  /** Whether all of the view is loaded. */
  readonly isComplete: boolean;
}

/** The view for programs: its query, its address in REST, a command, and files. */
export function Exports({ name, view, table, data, isComplete }: ExportsProps) {
  const rest = `${location.origin}${basePath}/api/v1/domain/${encodeURIComponent(name)}${restQuery(view)}`;
  const authorization = token.value === '' ? '' : ' -H "Authorization: Bearer $TOKEN"';
  const scope = isComplete ? '' : ' of what is loaded';
  return (
    <span class="exports">
      {anyQuery && (
        <a class="button" href={graphiqlAddress(name, view)} title="This view's query in GraphiQL">
          GraphiQL
        </a>
      )}
      <a class="button" href={rest} title="This view in the REST API">
        REST
      </a>
      <CopyButton text={`curl -s '${rest}'${authorization}`} label="curl" title="Copy the curl command" />
      <DownloadButtons file={`${name}-${fileSuffix(view)}`} table={table} data={data} scope={scope} />
    </span>
  );
}

function restQuery(view: Moments): string {
  if (view.mode === 'two') return `/diff?from=${view.from}&to=${view.to}`;
  return view.mode === 'one' ? `?at=${view.at}` : '';
}

function fileSuffix(view: Moments): string {
  const short = (time: string) => time.replaceAll(':', '');
  if (view.mode === 'two') return `${short(view.from)}-${short(view.to)}`;
  return view.mode === 'one' ? short(view.at) : 'latest';
}

/** GraphiQL reads the query behind the `#`, which is not sent to the server. */
function graphiqlAddress(name: string, view: Moments): string {
  const isDiff = view.mode === 'two';
  const operations = isDiff ? [DomainDifferenceDocument] : [DomainRecordsDocument, DomainHeadersDocument];
  const query = operations
    .map((operation) =>
      operation
        .toString()
        .trim()
        .replaceAll(/^ +(?=fragment )/gm, '\n'),
    )
    .join('\n\n');
  const times = isDiff ? { from: view.from, to: view.to } : view.mode === 'one' ? { at: view.at } : {};
  const variables = JSON.stringify({ name, ...(isDiff ? {} : { first: 100 }), ...times }, null, 2);
  return `${basePath}/graphiql#${new URLSearchParams({ query, variables })}`;
}

interface DownloadProps {
  /** Without its ending. */
  readonly file: string;
  readonly table: () => Table;
  readonly data: unknown;
  /** What of it is saved, for the titles. */
  readonly scope?: string;
}

/** Saves what is shown as files. */
export function DownloadButtons({ file, table, data, scope = '' }: DownloadProps) {
  return (
    <>
      <button
        type="button"
        title={`Download JSON${scope}`}
        onClick={() => save(`${file}.json`, 'application/json', `${JSON.stringify(data, null, 2)}\n`)}
      >
        JSON
      </button>
      <button
        type="button"
        title={`Download CSV${scope}`}
        onClick={() => save(`${file}.csv`, 'text/csv', csvOf(table()))}
      >
        CSV
      </button>
    </>
  );
}

function save(name: string, type: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
