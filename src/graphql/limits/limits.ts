/** A request with 100 aliases of `domain`, each with every field of every type, has 21,000 tokens. */
export const MOST_TOKENS = 30_000;

/** Of fields, aliases, operations and all else, in characters: an answer has an alias again for each object. */
export const LONGEST_NAME = 200;

/** Brackets in brackets, and fragments in fragments: parsing and validation call themselves at every level. */
export const MOST_LEVELS = 100;

/** Fields in fields. The usual introspection query has 13, the schema itself 4. */
export const MOST_DEPTH = 20;

/** 100 domains with four aliases in each. */
export const MOST_ALIASES = 500;

/** Fields of the query itself, such as `domain`. */
export const MOST_ROOT_FIELDS = 200;

export const MOST_DIRECTIVES = 500;

/** 100 domains with every field have 14,000; fragments that spread fragments could make millions of few. */
export const MOST_SELECTIONS = 30_000;

/** Validation compares all fields of one name in one place with each other: 100 domains have 48,000 such pairs. */
export const MOST_COMPARISONS = 100_000;

/** In the variables of a request: lists and objects, and all that is in them. 100 lists of 100 types have 10,100. */
export const MOST_VARIABLE_VALUES = 11_000;
