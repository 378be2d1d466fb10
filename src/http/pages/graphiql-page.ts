import { readFileSync } from 'node:fs';
import type { FixedAnswer } from './fixed-answer.js';
import { htmlPage } from './html-page.js';

const QUERIES_FILE = new URL('../../../samples/queries.graphql', import.meta.url);

/** GraphiQL, with the ready queries of samples/queries.graphql: for places that Sandbox cannot be loaded in. */
export function graphiqlPage(assets: string): FixedAnswer {
  return htmlPage({
    title: 'Domain Metadata Service: GraphiQL',
    styles: [`${assets}/graphiql/graphiql.css`],
    scripts: [`${assets}/graphiql/graphiql.js`],
    elementId: 'graphiql',
    start: startOf(assets),
    // Fonts and pictures are in the styles.
    sources: { 'worker-src': ["'self'"], 'font-src': ['data:'], 'img-src': ["'self'", 'data:'] },
  });
}

/** The editor's workers are files of this server; tokens that are written into its headers are not kept. */
function startOf(assets: string): string {
  return `
const workers = { editorWorkerService: 'editor', json: 'json', graphql: 'graphql' };
self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => '${assets}/graphiql/' + workers[label] + '-worker.js',
};
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('graphiql'), {
  title: 'Domain Metadata Service',
  logo: '<span></span>',
  query: ${scriptText(readFileSync(QUERIES_FILE, 'utf8'))},
  variables: '{ "domain": "example.com" }',
  shouldPersistHeaders: false,
  // The text would go into the page's address otherwise, which may be too long then.
  onEditQuery: () => {},
  async fetcher(parameters, { headers } = {}) {
    const response = await fetch('graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(parameters),
    });
    return response.json();
  },
});
`;
}

/** A text as a script inside HTML writes it. */
function scriptText(text: string): string {
  return JSON.stringify(text).replaceAll('<', '\\u003c');
}
