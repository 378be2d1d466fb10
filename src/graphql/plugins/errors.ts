import type { GraphqlPlugin } from '../context.js';
import { locationsIn } from '../error-locations.js';
import { isOfRequest, maskError } from '../format-error.js';

/** Errors that clients are not shown go to the log, and those of validation get their places in the text. */
export const errorsPlugin: GraphqlPlugin = {
  async didEncounterErrors({ errors, document, source, operation, contextValue }) {
    for (const error of errors) if (!isOfRequest(error)) maskError(error, contextValue.onInternalError);
    // Documents are parsed without locations. Before the operation is known, errors are those of validation.
    if (document === undefined || source === undefined || operation !== undefined) return;
    const locate = locationsIn(document, source);
    for (const error of errors) {
      const locations = locate(error);
      if (error.locations === undefined && locations.length > 0) Object.assign(error, { locations });
    }
  },
};
