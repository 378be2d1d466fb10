import type { FixedAnswer } from './fixed-answer.js';
import { htmlPage } from './html-page.js';

/** The OpenAPI document beside it as a page: Swagger UI, which asks nobody else. */
export function docsPage(assets: string): FixedAnswer {
  return htmlPage({
    title: 'Domain Metadata Service: REST API v1',
    styles: [`${assets}/swagger-ui/swagger-ui.css`],
    scripts: [`${assets}/swagger-ui/swagger-ui-bundle.js`],
    elementId: 'swagger-ui',
    start: START,
    // Pictures in the styles.
    sources: { 'img-src': ["'self'", 'data:'] },
  });
}

// By default it would show a badge of a validator on the internet.
const START = `
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  queryConfigEnabled: false,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
});
`;
