import { GraphQLError } from 'graphql';
import { type Selecting, selectedValues } from './selected-values.js';

/** How many values a request may read from lists: some two seconds' work, field by field. */
const MOST_VALUES = 1_000_000;

/**
 * What a request may read from the lists of a domain. What a query costs is known before anything is looked
 * up, and takes lists for short; how long they are shows only here.
 */
export class AnswerBudget {
  #left = MOST_VALUES;

  /**
   * Takes what a list's entries have of values.
   *
   * @param field What is selected in it.
   * @throws GraphQLError QUERY_TOO_COMPLEX where less is left.
   */
  take(entries: number, field: Selecting): void {
    const values = entries * selectedValues(field);
    if (values > this.#left) throw tooMany();
    this.#left -= values;
  }
}

function tooMany(): GraphQLError {
  const message = `The request would read more than ${MOST_VALUES} values from lists: ask for fewer domains, types, names or fields in one request.`;
  return new GraphQLError(message, { extensions: { code: 'QUERY_TOO_COMPLEX' } });
}
