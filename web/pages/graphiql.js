// Starts GraphiQL with the ready queries, which the build puts before this as READY_QUERIES. The editor's workers are files
// beside this one; tokens that are written into its headers are not kept.
/* global READY_QUERIES, YogaGraphiQL */

const FOLDER = document.currentScript.src.replace(/[^/]*$/, '');

/** Of GraphiQL alone: Sandbox opens subscriptions in other ways than server-sent events. */
const LIVE_QUERY = `# What changes from now on, until it is stopped.
subscription Live {
  changes {
    nodes {
      date
      kind
      domain { name }
    }
    pageInfo {
      endCursor
    }
  }
}
`;

const workers = { editorWorkerService: 'editor', json: 'json', graphql: 'graphql' };
self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => `${FOLDER}${workers[label]}-worker.js`,
};
// A link to a query has it behind the #, which is not sent.
const linked = new URLSearchParams(location.hash.slice(1));
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('graphiql'), {
  title: 'Domain Metadata Service',
  logo: '<span></span>',
  query: linked.get('query') ?? `${READY_QUERIES}\n${LIVE_QUERY}`,
  variables: linked.get('variables') ?? '{ "domain": "example.com" }',
  shouldPersistHeaders: false,
  // The text would go into the page's address otherwise, which may be too long then.
  onEditQuery: () => {},
  async fetcher(parameters, { headers } = {}) {
    const controller = new AbortController();
    const response = await fetch('graphql', {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(parameters),
      signal: controller.signal,
    });
    if (!response.headers.get('content-type').startsWith('text/event-stream')) return response.json();
    const results = resultsOf(response);
    // Of a generator, return() would wait for the next event.
    const iterator = {
      next: () =>
        results.next().catch((error) => {
          if (controller.signal.aborted) return { done: true };
          throw error;
        }),
      return: async () => {
        controller.abort();
        return { done: true };
      },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  },
});
async function* resultsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + value).split('\n\n');
    text = events.pop();
    for (const event of events) {
      const result = /^event: next\ndata: (.*)$/.exec(event);
      if (result) yield JSON.parse(result[1]);
    }
  }
}
