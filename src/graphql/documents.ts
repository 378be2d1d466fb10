import { createHash } from 'node:crypto';
import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  specifiedRules,
  type ValidationContext,
  validate,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { OperationError } from '../model/errors.js';
import { fairTurns } from '../rates/fair-turns.js';
import type { DocumentWork } from '../resolvers/request-budget.js';
import { locationsIn } from './error-locations.js';
import { compileOperation, type StoredOperation } from './execute.js';
import { advised, shortened } from './format-error.js';
import { costOf, type Examination, examine, ofOperation } from './limits/examine.js';
import type { Introspection } from './limits/introspection.js';
import { QueryTooComplexError } from './limits/limits.js';
import { type GraphqlParameters, RejectedRequest, rejection } from './request.js';

/**
 * In characters of text. A parsed document takes about 70 times as much memory as its text, so that the cache takes
 * 28 MB at most.
 */
const MOST_CHARACTERS = 400_000;
/** A longer document is examined each time, so that a few of them do not remove all others. */
const LONGEST_KEPT = 100_000;
/** What the smallest document takes besides its text, and a compiled operation for each selection, likewise. */
const OVERHEAD = 100;
const OF_COMPILED = 100;

// Compilation takes as long as about 30 executions without it: a client that sends new documents only to have them
// compiled has to send as many requests. One with a large result is compiled at once: it costs more than that.
const OCCURRENCES_BEFORE_COMPILING = 32;
const LONGEST_COMPILED = 12_000;
const MOST_SELECTIONS_COMPILED = 400;

/**
 * Of one of the stages of examining a document, in a millisecond at least: of many fields with one name, 3,700
 * characters take 34 to be checked, parsed and validated.
 */
const CHARACTERS_OF_MILLISECOND = 600;

/** A document that a client has sent, and all that is known of it. */
export class KnownDocument {
  readonly source: string;
  /** The SHA-256 of the source, in hexadecimal. */
  readonly hash: string;
  /** The examined and valid document, or why it is rejected; undefined: it was not examined yet. */
  examined: Examination | RejectedRequest | undefined;
  /** The document's only operation, compiled. */
  compiled: StoredOperation | undefined;
  /** undefined: not known yet. */
  compilable: boolean | undefined;
  /** undefined: not known, since it was not examined or is no GraphQL. */
  work: DocumentWork | undefined;
  /** How often it was sent. */
  occurrences = 0;

  constructor(source: string) {
    this.source = source;
    this.hash = createHash('sha256').update(source).digest('hex');
  }
}

/** What is known of a valid document; undefined for any other. */
function examinationOf(document: KnownDocument | undefined): Examination | undefined {
  const examined = document?.examined;
  return examined instanceof RejectedRequest ? undefined : examined;
}

function selectionsOf(document: KnownDocument): number {
  return examinationOf(document)?.selections ?? 0;
}

/** How many selections are executed in a millisecond, each of a domain that is rejected, and of a compiled document. */
const SELECTIONS_OF_MILLISECOND = 20;
const COMPILED_OF_MILLISECOND = 100;
/** The same of values of the schema. */
const VALUES_OF_MILLISECOND = 500;

/** The stages of examining a document: each takes the event loop for a while. */
type Stages = Generator<undefined, Examination | RejectedRequest>;

/** An examination that several requests may wait for. */
interface UnderWay {
  readonly document: KnownDocument;
  readonly stages: Stages;
  /** What a stage has thrown. */
  failure?: unknown;
}

/** What decides which documents are executed. */
export interface DocumentsOptions {
  /** What one request may cost. */
  readonly maxCost: number;
  /** Whether clients may query the schema. */
  readonly introspection: boolean;
  /** The only documents that are executed, by their ids; absent: any document is. */
  readonly listed?: ReadonlyMap<string, string> | undefined;
}

/**
 * The documents of clients: found by their text, their SHA-256 (automatic persisted queries) or the id of a list;
 * parsed, examined, validated and, where they come often, compiled once.
 */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #maxCost: number;
  readonly #introspection: boolean;
  /** By text. */
  readonly #cache = new LRUCache<string, KnownDocument>({
    maxSize: MOST_CHARACTERS,
    maxEntrySize: LONGEST_KEPT,
    sizeCalculation: (known) => {
      const ofCompiled = known.compiled === undefined ? 0 : selectionsOf(known) * OF_COMPILED;
      return known.source.length + OVERHEAD + ofCompiled;
    },
    dispose: (known) => this.#forget(known),
  });
  /** By SHA-256: those of the cache, listed ones, and those under way that are too long for the cache. */
  readonly #byHash = new Map<string, KnownDocument>();
  /** Documents that are being examined, by text. */
  readonly #underWay = new Map<string, UnderWay>();
  /** Listed documents by id, and by text. */
  readonly #listed: ReadonlyMap<string, KnownDocument> | undefined;
  readonly #listedByText: ReadonlyMap<string, KnownDocument> | undefined;

  /** @throws OperationError, one line, for a listed document that the schema or a limit does not allow. */
  constructor(schema: GraphQLSchema, { maxCost, introspection, listed }: DocumentsOptions) {
    this.#schema = schema;
    this.#maxCost = maxCost;
    this.#introspection = introspection;
    if (listed === undefined) return;
    const byId = new Map<string, KnownDocument>();
    this.#listed = byId;
    for (const [id, source] of listed) byId.set(id, this.#listedDocument(id, source));
    this.#listedByText = new Map([...byId.values()].map((document) => [document.source, document]));
  }

  /**
   * The document of a request. One that is not known is kept once it is examined.
   *
   * @throws RejectedRequest where the document that is named is not known, or not in the list.
   */
  identify({ query, id }: Pick<GraphqlParameters, 'query' | 'id'>): KnownDocument {
    if (this.#listed !== undefined) {
      const found = query === undefined ? this.#listed.get(id ?? '') : this.#listedByText?.get(query);
      if (found !== undefined) return found;
      const message = 'Only listed operations are allowed. Send the id or the exact text of one.';
      throw rejection(400, 'PERSISTED_QUERY_NOT_IN_LIST', message);
    }
    if (query !== undefined) {
      const sent = this.#cache.get(query) ?? new KnownDocument(query);
      if (id === undefined || id === sent.hash) return sent;
      throw rejection(400, 'BAD_REQUEST', 'The SHA-256 in `extensions.persistedQuery` is not of this query.');
    }
    // Not one that is too long for the cache, and known only while it is executed.
    const named = this.#cache.get(this.#byHash.get(id ?? '')?.source ?? '');
    if (named !== undefined && !(named.examined instanceof RejectedRequest)) return named;
    // Clients know this message, and then send the document once.
    throw rejection(200, 'PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
  }

  /**
   * Waits for the turn of the event loop in which the examination of a document may begin, if it was not examined
   * before.
   *
   * @param client That has sent it.
   * @returns the document, which another request may have brought meanwhile.
   */
  async inTurn(document: KnownDocument, client: string): Promise<KnownDocument> {
    if (document.examined !== undefined) return document;
    await turnOfStage(document, client);
    return this.#cache.get(document.source) ?? document;
  }

  /**
   * Examines a document, if it was not before, each stage in a turn of its own but for the first.
   *
   * @param client That has sent it.
   * @throws what a stage throws, for all who wait.
   */
  async examineInTurns(document: KnownDocument, client: string): Promise<void> {
    const { source } = document;
    // Many clients may send a document before it is known: one examination is for all of them, in whoever's turn comes next.
    const underWay: UnderWay = this.#underWay.get(source) ?? { document, stages: this.#stages(document) };
    this.#underWay.set(source, underWay);
    try {
      while (underWay.document.examined === undefined) {
        // A generator that has thrown gives no value any more.
        if (underWay.failure !== undefined) throw underWay.failure;
        const stage = underWay.stages.next();
        if (stage.done !== true) await turnOfStage(document, client);
        else this.#examined(underWay.document, stage.value);
      }
    } catch (error) {
      underWay.failure = error;
      throw error;
    } finally {
      if (this.#underWay.get(source) === underWay) this.#underWay.delete(source);
    }
    document.examined = underWay.document.examined;
    document.work = underWay.document.work;
  }

  /**
   * Examines a request for one of the operations of a document, and the document, if it was not examined before.
   *
   * @returns the estimated cost of the request; undefined where the document has no such operation.
   * @throws RejectedRequest where the document or the request is not allowed.
   */
  examine(
    document: KnownDocument,
    { operationName, variables, posted }: Pick<GraphqlParameters, 'operationName' | 'variables' | 'posted'>,
  ): number | undefined {
    const examination = this.#examination(document);
    if (examination instanceof RejectedRequest) throw examination;
    const operation = getOperationAST(examination.document, operationName);
    requireReading(operation, posted);
    const cost = costOfRequest(examination, operationName, variables, this.#maxCost);
    const { errors } = getVariableValues(this.#schema, operation?.variableDefinitions ?? [], variables, {
      maxErrors: MOST_ERRORS,
    });
    if (errors !== undefined) throw invalid('BAD_USER_INPUT', errors);
    return cost;
  }

  /**
   * The compiled operation of an examined document that is sent frequently: it takes a tenth of the time. This one is
   * counted.
   *
   * @returns undefined for any other document.
   */
  frequent(document: KnownDocument): StoredOperation | undefined {
    document.occurrences += 1;
    return document.occurrences < OCCURRENCES_BEFORE_COMPILING ? document.compiled : this.compiled(document);
  }

  /** The compiled operation of an examined document; undefined if it is not compilable. */
  compiled(document: KnownDocument): StoredOperation | undefined {
    const examination = examinationOf(document);
    if (examination === undefined) return undefined;
    if (document.compiled !== undefined || !this.isCompilable(document)) return document.compiled;
    document.compiled = compileIfPossible(this.#schema, examination.document);
    document.compilable = document.compiled !== undefined;
    // It is larger now.
    if (this.#cache.delete(document.source)) this.#keep(document);
    return document.compiled;
  }

  /** Whether the operation of an examined document may be compiled. */
  isCompilable(document: KnownDocument): boolean {
    const examination = examinationOf(document);
    document.compilable ??= examination !== undefined && isCompilable(document, examination);
    return document.compilable;
  }

  /** An examined document whose operation of the name is a subscription; undefined for any other. */
  subscription(document: KnownDocument, operationName: string | null): DocumentNode | undefined {
    const examined = examinationOf(document)?.document;
    const operation = examined && getOperationAST(examined, operationName);
    return operation?.operation === OperationTypeNode.SUBSCRIPTION ? examined : undefined;
  }

  /** What an operation of an examined document selects of the schema; undefined where that is nothing. */
  introspection(document: KnownDocument, operationName: string | null): Introspection | undefined {
    const examination = examinationOf(document);
    return examination && ofOperation(examination.introspections, operationName);
  }

  /** How long the execution of an examined document keeps the event loop, or its compilation, in milliseconds, approximately. */
  millisecondsOf(document: KnownDocument, operationName: string | null): number {
    const values = this.introspection(document, operationName)?.values ?? 0;
    const ofMillisecond =
      document.compiled === undefined ? SELECTIONS_OF_MILLISECOND : COMPILED_OF_MILLISECOND;
    return selectionsOf(document) / ofMillisecond + values / VALUES_OF_MILLISECOND;
  }

  /** What examining a document took, if it is executed for the first time. */
  newWork({ work, occurrences }: KnownDocument): DocumentWork | undefined {
    return occurrences > 0 ? undefined : work;
  }

  /** Forgets a document that is too long for the cache, once its request is executed. */
  release(document: KnownDocument): void {
    if (this.#listed === undefined && !this.#cache.has(document.source)) this.#forget(document);
  }

  /** The valid document of a SHA-256. */
  valid(hash: string): DocumentNode | undefined {
    return examinationOf(this.#byHash.get(hash))?.document;
  }

  #keep(document: KnownDocument): void {
    if (this.#listed === undefined) this.#cache.set(document.source, document);
    this.#byHash.set(document.hash, document);
  }

  #forget(document: KnownDocument): void {
    if (this.#byHash.get(document.hash) === document) this.#byHash.delete(document.hash);
  }

  #examination(document: KnownDocument): Examination | RejectedRequest {
    const stages = this.#stages(document);
    while (document.examined === undefined) {
      const stage = stages.next();
      if (stage.done === true) this.#examined(document, stage.value);
    }
    return document.examined;
  }

  #examined(document: KnownDocument, examined: Examination | RejectedRequest): void {
    document.examined = examined;
    this.#keep(document);
  }

  *#stages(known: KnownDocument): Stages {
    try {
      const examination = yield* examine(this.#schema, known.source);
      known.work = examination.work;
      yield;
      const rules = [
        ...specifiedRules,
        wholeSubscriptions,
        ...(this.#introspection ? [] : [noIntrospection]),
      ];
      const errors = validate(this.#schema, examination.document, rules, {
        // Suggestions name what introspection would show.
        hideSuggestions: !this.#introspection,
        maxErrors: MOST_ERRORS,
      });
      if (errors.length === 0) return examination;
      yield;
      return invalid('GRAPHQL_VALIDATION_FAILED', errors, locationsIn(examination.document, known.source));
    } catch (error) {
      return error instanceof GraphQLError ? invalid('GRAPHQL_PARSE_FAILED', [error]) : rejectionOf(error);
    }
  }

  #listedDocument(id: string, source: string): KnownDocument {
    const document = new KnownDocument(source);
    const examination = this.#examination(document);
    const reason = examination instanceof RejectedRequest ? examination : this.#tooExpensive(examination);
    if (reason === undefined) return document;
    const messages = reason.errors.map(({ message }) => message).join(' ');
    throw new OperationError(`PERSISTED_ONLY: the operation ${id} of the file is not allowed: ${messages}`);
  }

  /** What an operation with variables costs is known only with their values. */
  #tooExpensive({ costs }: Examination): RejectedRequest | undefined {
    for (const [name, cost] of costs) {
      if (typeof cost !== 'number') continue;
      try {
        costOfRequest({ costs }, name, {}, this.#maxCost);
      } catch (error) {
        if (error instanceof RejectedRequest) return error;
        throw error;
      }
    }
    return undefined;
  }
}

function turnOfStage({ source }: KnownDocument, client: string): Promise<void> | undefined {
  return fairTurns.take(client, source.length / CHARACTERS_OF_MILLISECOND);
}

const TOO_DEEP = 'The document is too complex. Ask for less in one request.';

/** @throws RejectedRequest */
function costOfRequest(...request: Parameters<typeof costOf>): number | undefined {
  try {
    return costOf(...request);
  } catch (error) {
    throw rejectionOf(error);
  }
}

/** @throws any other error, as it is. */
function rejectionOf(error: unknown): RejectedRequest {
  // Costs are functions of the variables, which call each other as deep as the document is complex.
  if (error instanceof RangeError) return rejection(400, 'QUERY_TOO_COMPLEX', TOO_DEEP);
  if (!(error instanceof QueryTooComplexError)) throw error;
  const { message, cost } = error;
  const details = cost === undefined ? {} : { extensions: { estimatedCost: cost } };
  return rejection(400, 'QUERY_TOO_COMPLEX', message, details);
}

/** Kept with the document. */
const MOST_ERRORS = 20;

/** @param locate Finds the locations of errors that have none; absent: they stay without. */
function invalid(
  code: string,
  errors: readonly GraphQLError[],
  locate: ReturnType<typeof locationsIn> = () => [],
): RejectedRequest {
  const formatted = errors.map((error) => {
    const { message, locations = locate(error), ...rest } = error.toJSON();
    return {
      message: shortened(advised(message)),
      ...(locations.length > 0 && { locations }),
      ...{ ...rest, extensions: { ...rest.extensions, code } },
    };
  });
  return new RejectedRequest(400, formatted);
}

/**
 * A validation rule: the field of a subscription must not be left out (GraphQL, section 5.2.4). graphql-js 16 throws an
 * error of its own where it is.
 */
function wholeSubscriptions(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition({ operation, selectionSet }) {
      if (operation !== OperationTypeNode.SUBSCRIPTION) return;
      const nodes = selectionsOfRoot(context, selectionSet, new Set())
        .flatMap(({ directives = [] }) => directives)
        .filter(({ name }) => name.value === 'skip' || name.value === 'include');
      if (nodes.length === 0) return;
      const message = 'The field of a subscription cannot be left out: remove @skip and @include.';
      context.reportError(new GraphQLError(message, { nodes }));
    },
  };
}

/** Fields of an operation that are in no other field, and the fragments that they are in. */
function selectionsOfRoot(
  context: ValidationContext,
  { selections }: SelectionSetNode,
  visited: Set<string>,
): SelectionNode[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return selection;
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      return [selection, ...selectionsOfRoot(context, selection.selectionSet, visited)];
    }
    const { value: name } = selection.name;
    const fragment = visited.has(name) ? undefined : context.getFragment(name);
    visited.add(name);
    return [selection, ...(fragment ? selectionsOfRoot(context, fragment.selectionSet, visited) : [])];
  });
}

/** A validation rule. */
function noIntrospection(context: ValidationContext): ASTVisitor {
  return {
    Field(node) {
      if (node.name.value !== '__schema' && node.name.value !== '__type') return;
      const message = 'Introspection is disabled: __schema and __type are not available.';
      const extensions = { validationErrorCode: 'INTROSPECTION_DISABLED' };
      context.reportError(new GraphQLError(message, { nodes: node, extensions }));
    },
  };
}

/** The schema has no mutations, which validation does not report. */
function requireReading(definition: OperationDefinitionNode | null | undefined, posted: boolean): void {
  if (definition?.operation !== OperationTypeNode.MUTATION) return;
  const message = 'This service is read-only: it has queries and subscriptions, and no mutations.';
  // A mutation is not allowed by GET in any case (GraphQL over HTTP, section 6.1).
  if (!posted) throw rejection(405, 'METHOD_NOT_ALLOWED', message, { fields: { allow: 'POST' } });
  throw rejection(400, 'GRAPHQL_VALIDATION_FAILED', message);
}

/**
 * Whether an operation may be compiled. Only small documents with one query are, so that time and memory are bounded,
 * and none with what the compiler treats in another way than graphql-js: directives, introspection, defaults of
 * variables, aliases and variables named `__proto__`, and many domains in one field.
 */
function isCompilable({ source }: KnownDocument, examination: Examination): boolean {
  const { document, selectionsByType, costs, introspections } = examination;
  if (source.length > LONGEST_COMPILED || selectionsByType > MOST_SELECTIONS_COMPILED) return false;
  if (costs.size !== 1 || introspections.size > 0) return false;
  let compilable = getOperationAST(document)?.operation === OperationTypeNode.QUERY;
  visit(document, {
    Directive: () => {
      compilable = false;
    },
    Field: ({ alias, name }) => {
      // The compiler knows no list of promises, and would execute all domains in one turn of the event loop.
      if (alias?.value === '__proto__' || name.value === 'domains') compilable = false;
    },
    [Kind.VARIABLE_DEFINITION]: ({ variable, defaultValue }) => {
      if (defaultValue !== undefined || variable.name.value === '__proto__') compilable = false;
    },
  });
  return compilable;
}

function compileIfPossible(schema: GraphQLSchema, document: DocumentNode): StoredOperation | undefined {
  try {
    return compileOperation(schema, document);
  } catch {
    return undefined;
  }
}
