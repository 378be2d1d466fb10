// Starts Swagger UI. An operation shows a closed lock while a token is missing, an open one with it, and none where no token is
// needed; by itself Swagger UI shows open locks before a token is entered, and a closed one where it is optional. It would send
// the examples of all parameters, of which no question has all, and shows a badge of a validator on the internet by default.
/* global SwaggerUIBundle */
const turned =
  (Lock, { React }) =>
  ({ isAuthorized, ...rest }) =>
    React.createElement(Lock, { ...rest, isAuthorized: !isAuthorized });
const withoutLockIfOpen =
  (Summary, { React }) =>
  ({ operationProps, ...rest }) => {
    const security = operationProps.get('security');
    const open = security?.some((requirement) => requirement.isEmpty());
    const shown = open ? operationProps.set('security', security.clear()) : operationProps;
    return React.createElement(Summary, { ...rest, operationProps: shown });
  };
const withoutOptionalExamples = (update) => (spec) => {
  const own = Object.values(spec.paths).flatMap(({ get }) => get.parameters);
  for (const parameter of [...own, ...Object.values(spec.components.parameters)])
    if (!parameter.required) delete parameter.example;
  return update(spec);
};
SwaggerUIBundle({
  plugins: [
    {
      statePlugins: { spec: { wrapActions: { updateJsonSpec: withoutOptionalExamples } } },
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
