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

/**
 * An operation shows a closed lock while a token is missing, an open one with it, and none where no token is
 * needed; by itself Swagger UI shows open locks before a token is entered, and a closed one where it is optional.
 * By default it would also show a badge of a validator on the internet.
 */
const START = `
const turned = (Lock, { React }) => ({ isAuthorized, ...rest }) =>
  React.createElement(Lock, { ...rest, isAuthorized: !isAuthorized });
const withoutLockIfOpen = (Summary, { React }) => ({ operationProps, ...rest }) => {
  const security = operationProps.get('security');
  const open = security?.some((requirement) => requirement.isEmpty());
  const shown = open ? operationProps.set('security', security.clear()) : operationProps;
  return React.createElement(Summary, { ...rest, operationProps: shown });
};
SwaggerUIBundle({
  plugins: [
    {
      wrapComponents: {
        authorizeBtn: turned,
        authorizeOperationBtn: turned,
        OperationSummary: withoutLockIfOpen,
      },
    },
  ],
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  queryConfigEnabled: false,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
});
`;
