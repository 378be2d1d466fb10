import type { ComponentChildren } from 'preact';
import type { WordQuestion } from '../../../src/model/word-questions.js';
import { domainAddress, useView } from '../address.js';
import {
  type DnsRecordFilter,
  FindDomainDocument,
  FindDomainsDocument,
  FindHeadersDocument,
  FindRecordsDocument,
  type HttpHeaderFilter,
} from '../operations.generated.js';
import { Failure, Loading, MoreButton, Scroll, Section, Time } from '../parts.js';
import { type Pages, useAnswer, usePages } from '../use-answer.js';
import { HeaderValue, Rdata, Text } from '../values.js';

/** What was found, for each thing that may be meant. */
export function Results({ questions }: { readonly questions: readonly WordQuestion[] }) {
  const { parameters, change } = useView();
  const { present } = parameters;
  return (
    <>
      {questions.some(({ of }) => of !== 'domains') && (
        <fieldset class="choice">
          <legend class="visually-hidden">Which records and headers</legend>
          {PRESENCE.map(([value, label]) => (
            <label key={label}>
              <input
                type="radio"
                name="present"
                checked={present === value}
                onChange={() => change({ present: value })}
              />
              {label}
            </label>
          ))}
        </fieldset>
      )}
      {questions.map((question) => (
        <Result key={JSON.stringify(question)} question={question} present={present} />
      ))}
    </>
  );
}

const PRESENCE = [
  [undefined, 'At any time'],
  ['true', 'When last observed'],
  ['false', 'Gone'],
] as const;

interface ResultProps {
  readonly question: WordQuestion;
  readonly present: string | undefined;
}

function Result({ question, present }: ResultProps) {
  const presence = present === undefined ? {} : { present: present === 'true' };
  if (question.of === 'domains') return <Domains {...question} />;
  if (question.of === 'records')
    return <Records title={question.title} where={{ ...question.where, ...presence }} />;
  return <Headers title={question.title} where={{ ...question.where, ...presence }} />;
}

function Domains({ title, match, name }: Extract<WordQuestion, { readonly of: 'domains' }>) {
  const whole = useAnswer(FindDomainDocument, name === null ? null : { name });
  const found = usePages(
    FindDomainsDocument,
    match === '' ? null : { match },
    ({ searchDomains }) => searchDomains,
  );
  const exact = whole.data?.domain ?? null;
  const nodes = [
    ...(exact === null ? [] : [exact]),
    ...found.nodes.filter((node) => node.name !== exact?.name),
  ];
  const isLoading = found.isLoading || whole.isLoading;
  const error = found.error ?? whole.error;
  return (
    <Found
      title={title}
      pages={{ ...found, nodes, isLoading, ...(error && { error }) }}
      columns={['Domain', 'First observed', 'Last change']}
    >
      {nodes.map((domain) => (
        <tr key={domain.name}>
          <th scope="row">
            <a href={domainAddress(domain.name)}>
              <Text value={domain.name} />
            </a>
            {domain.unicodeName !== domain.name && (
              <>
                {' '}
                <Text value={domain.unicodeName} />
              </>
            )}
          </th>
          <td data-label="First observed">
            <Time value={domain.created} />
          </td>
          <td data-label="Last change">
            {domain.lastChange === domain.created ? '–' : <Time value={domain.lastChange} />}
          </td>
        </tr>
      ))}
    </Found>
  );
}

function Records({ title, where }: { readonly title: string; readonly where: DnsRecordFilter }) {
  const found = usePages(FindRecordsDocument, { where }, ({ dnsRecords }) => dnsRecords);
  return (
    <Found title={title} pages={found} columns={['Domain', 'Record', 'First seen', 'Last seen', 'Removed']}>
      {found.nodes.map(({ domain, record }) => (
        <tr key={`${domain.name} ${JSON.stringify(record)}`}>
          <DomainHead name={domain.name} />
          <td data-label="Record">
            <span class="tag">{record.type}</span>{' '}
            {record.host !== domain.name && (
              <>
                <Text value={record.host} />{' '}
              </>
            )}
            <Rdata record={record} />
          </td>
          <td data-label="First seen">
            <Time value={record.firstSeen} />
          </td>
          <td data-label="Last seen">
            <Time value={record.lastSeen} />
          </td>
          <td data-label="Removed">{record.removed == null ? '–' : <Time value={record.removed} />}</td>
        </tr>
      ))}
    </Found>
  );
}

function Headers({ title, where }: { readonly title: string; readonly where: HttpHeaderFilter }) {
  const found = usePages(FindHeadersDocument, { where }, ({ httpHeaders }) => httpHeaders);
  return (
    <Found title={title} pages={found} columns={['Domain', 'Value', 'From', 'Last seen', 'To']}>
      {found.nodes.map(({ domain, name, value, from, lastSeen, to }) => (
        <tr key={`${domain.name} ${from}`}>
          <DomainHead name={domain.name} />
          <td data-label="Value">
            <span class="tag header">{name}</span> <HeaderValue name={name} value={value} />
          </td>
          <td data-label="From">
            <Time value={from} />
          </td>
          <td data-label="Last seen">{lastSeen == null ? '–' : <Time value={lastSeen} />}</td>
          <td data-label="To">{to == null ? '–' : <Time value={to} />}</td>
        </tr>
      ))}
    </Found>
  );
}

function DomainHead({ name }: { readonly name: string }) {
  return (
    <th scope="row">
      <a href={domainAddress(name)}>
        <Text value={name} />
      </a>
    </th>
  );
}

interface FoundProps {
  readonly title: string;
  readonly pages: Pages<unknown>;
  readonly columns: readonly string[];
  readonly children: ComponentChildren;
}

function Found({ title, pages, columns, children }: FoundProps) {
  const { nodes, isLoading, hasMore, error, more, again } = pages;
  const count = `${nodes.length}${hasMore ? ' or more' : ''}`;
  return (
    <Section
      title={title}
      extra={
        <span class="muted" role="status">
          {(isLoading && nodes.length === 0) || error !== undefined ? '' : count}
        </span>
      }
    >
      {error !== undefined && <Failure error={error} again={again} />}
      {isLoading && nodes.length === 0 && <Loading what="matches" />}
      {!isLoading && nodes.length === 0 && error === undefined && <p class="muted">None is recorded.</p>}
      {nodes.length > 0 && (
        <Scroll label={title}>
          <table class="cards">
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{children}</tbody>
          </table>
        </Scroll>
      )}
      {hasMore && nodes.length > 0 && <MoreButton isLoading={isLoading} more={more} label="Show more" />}
    </Section>
  );
}
