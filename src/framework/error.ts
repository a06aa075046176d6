import { firstOf } from './values/first-of.ts';

/** Why a request could not be routed. A new code needs a row in `ERRORS`. */
export type RoutingErrorCode =
  | 'invalid-request'
  | 'unknown-model'
  | 'body-too-large'
  | 'upload-timeout'
  | 'body-incomplete'
  | 'not-cached'
  | 'saturated'
  | 'unknown-profile'
  | 'shed'
  | 'queue-timeout'
  | 'evicted'
  | 'client-gone'
  | 'shutting-down'
  | 'memory-full'
  | 'too-many-streams'
  | 'internal'
  | 'no-endpoints';

interface ErrorRow {
  readonly status: number;
  /** The status in gRPC, for requests that are gRPC. */
  readonly grpcStatus: number;
  /** The error's `type` in OpenAI's error shape. */
  readonly type: string;
  /** The error's `type` in Anthropic's error shape; left out where it is the same. */
  readonly anthropicType?: string;
  /** The reference picker's name for it: label `error_code` of the error metric. */
  readonly label: string;
  /** Value of `x-llm-d-request-dropped-reason`, where the reference sends one. */
  readonly droppedReason?: string;
}

const GRPC = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  failedPrecondition: 9,
  internal: 13,
  unavailable: 14,
} as const;

/** The rows of refusals because of load: the client may try again later. */
const EXHAUSTED = {
  status: 429,
  grpcStatus: GRPC.resourceExhausted,
  type: 'rate_limit_error',
  label: 'ResourceExhausted',
} as const;
/** The rows of refusals where nothing is there to serve the request. */
const UNAVAILABLE = {
  status: 503,
  grpcStatus: GRPC.unavailable,
  type: 'server_error',
  anthropicType: 'overloaded_error',
  label: 'ServiceUnavailable',
} as const;
const CLIENT_ERROR = { grpcStatus: GRPC.invalidArgument, type: 'invalid_request_error' } as const;

export const ERRORS: Readonly<Record<RoutingErrorCode, ErrorRow>> = {
  'invalid-request': { ...CLIENT_ERROR, status: 400, label: 'BadRequest' },
  'unknown-model': {
    status: 404,
    grpcStatus: GRPC.notFound,
    type: 'not_found_error',
    label: 'NotFound',
  },
  'body-too-large': {
    ...CLIENT_ERROR,
    status: 413,
    anthropicType: 'request_too_large',
    grpcStatus: GRPC.resourceExhausted,
    label: 'BadRequest',
  },
  'upload-timeout': {
    ...CLIENT_ERROR,
    status: 408,
    anthropicType: 'timeout_error',
    grpcStatus: GRPC.deadlineExceeded,
    label: 'RequestTimeout',
  },
  'not-cached': {
    ...CLIENT_ERROR,
    status: 412,
    grpcStatus: GRPC.failedPrecondition,
    label: 'PreconditionFailed',
  },
  saturated: { ...EXHAUSTED, droppedReason: 'rejected-saturated' },
  'unknown-profile': EXHAUSTED,
  shed: EXHAUSTED,
  'queue-timeout': { ...EXHAUSTED, droppedReason: 'rejected-ttl-expired' },
  evicted: { ...EXHAUSTED, droppedReason: 'evicted' },
  'memory-full': { ...EXHAUSTED, droppedReason: 'rejected-memory-full' },
  'client-gone': { ...UNAVAILABLE, droppedReason: 'rejected-context-cancelled' },
  'shutting-down': { ...UNAVAILABLE, droppedReason: 'rejected-shutting-down' },
  'too-many-streams': { ...UNAVAILABLE, droppedReason: 'rejected-too-many-streams' },
  internal: {
    status: 500,
    grpcStatus: GRPC.internal,
    type: 'server_error',
    anthropicType: 'api_error',
    droppedReason: 'rejected-internal',
    label: 'Internal',
  },
  'body-incomplete': UNAVAILABLE,
  'no-endpoints': { ...UNAVAILABLE, droppedReason: 'rejected-no-endpoints' },
};

/**
 * An error that any client can cause. It has no stack, because to take one is most of the cost of
 * an error.
 */
export class StacklessError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * An expected failure, caused by the client, the pool or the load, and answered with a status. Its
 * code says where it comes from.
 */
export class RoutingError extends StacklessError {
  override readonly name = 'RoutingError';
  readonly code: RoutingErrorCode;
  /** The sentence for the client: `message` without its leading code. */
  readonly sentence: string;

  constructor(code: RoutingErrorCode, sentence: string) {
    super(`[${code}] ${sentence}`);
    this.code = code;
    this.sentence = sentence;
  }
}

/** What a client gets for an error of ours, whose own text is only in the log. */
export function internalFailure(): RoutingError {
  return new RoutingError('internal', 'the endpoint picker failed on this request; see its log');
}

export interface ConfigIssue {
  /** Such as `schedulingProfiles[0].plugins[2].weight`. */
  readonly path: string;
  readonly message: string;
}

/** More of them have one cause, such as a field that each entry of a long list gets wrong. */
const ISSUES_SHOWN = 20;

/**
 * A configuration, command line or file that cannot be used. Its message lists the first 20 issues.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly issues: readonly ConfigIssue[];

  constructor(source: string, issues: readonly ConfigIssue[], options?: ErrorOptions) {
    const { shown, more } = firstOf(issues, ISSUES_SHOWN);
    const lines = shown.map(({ path, message }) => `  ${path}: ${message}`);
    super(
      [`${source}:`, ...lines, ...(more === 0 ? [] : [`  and ${more} more`])].join('\n'),
      options,
    );
    this.issues = issues;
  }
}

/** A command line that cannot be used. `at` is the flag as it is written, or the file that it names. */
export function commandLineError(at: string, message: string): ConfigError {
  return new ConfigError('command line', [{ path: at, message }]);
}

/** Throws when the program is wrong. Never caught: the process ends, the proxy fails open. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}

/** What failed: a plugin by the kind and name that it has in the configuration, or another part. */
export interface FaultyPart {
  readonly kind: string;
  readonly name: string;
}

/** How often one call of one part has failed. */
export interface FaultCount extends FaultyPart {
  /** The method, such as `score`; `timer` for a timer that the part has set. */
  readonly call: string;
  readonly count: number;
}

export interface PluginFault extends FaultCount {
  readonly error: unknown;
}

/**
 * Ends an experiment, whose result means nothing without the plugin. `cause` is what the plugin
 * threw.
 */
export class PluginFailure extends Error {
  override readonly name = 'PluginFailure';

  constructor({ kind, name, call, error }: PluginFault) {
    super(`${kind} ${name} failed in ${call}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * What an error says, or its name where it says nothing; of anything else that was thrown, its
 * text.
 */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
