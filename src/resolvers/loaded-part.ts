/**
 * A part of a history that the query's field has asked for.
 *
 * @throws Error where it has not: neededParts and the resolvers disagree on what a field is read from.
 */
export function loadedPart<Part>(part: Part | null): Part {
  if (part === null) throw new Error('A part of the history was selected but not loaded.');
  return part;
}
