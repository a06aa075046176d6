/** Why a request could not be routed. A new code needs a row in `ERRORS`. */
export type RoutingErrorCode =
  | 'invalid-request'
  | 'unknown-model'
  | 'body-too-large'
  | 'upload-timeout'
  | 'saturated'
  | 'memory-full'
  | 'too-many-streams'
  | 'internal'
  | 'no-endpoints';

interface ErrorRow {
  readonly status: number;
  /** The error's `type` in OpenAI's error shape. */
  readonly type: string;
  /** The reference picker's name for it: label `error_code` of the error metric. */
  readonly label: string;
  /** Value of `x-llm-d-request-dropped-reason`, where the reference sends one. */
  readonly droppedReason?: string;
}

export const ERRORS: Readonly<Record<RoutingErrorCode, ErrorRow>> = {
  'invalid-request': { status: 400, type: 'invalid_request_error', label: 'BadRequest' },
  'unknown-model': { status: 404, type: 'not_found_error', label: 'NotFound' },
  'body-too-large': { status: 413, type: 'invalid_request_error', label: 'BadRequest' },
  saturated: {
    status: 429,
    type: 'rate_limit_error',
    label: 'ResourceExhausted',
    droppedReason: 'rejected-saturated',
  },
  'upload-timeout': { status: 408, type: 'invalid_request_error', label: 'RequestTimeout' },
  'memory-full': {
    status: 429,
    type: 'rate_limit_error',
    label: 'ResourceExhausted',
    droppedReason: 'rejected-memory-full',
  },
  'too-many-streams': {
    status: 503,
    type: 'server_error',
    label: 'ServiceUnavailable',
    droppedReason: 'rejected-too-many-streams',
  },
  internal: { status: 500, type: 'server_error', label: 'Internal' },
  'no-endpoints': {
    status: 503,
    type: 'server_error',
    label: 'ServiceUnavailable',
    droppedReason: 'rejected-no-endpoints',
  },
};

/** An expected failure, caused by the client, the pool or the load, and answered with a status. */
export class RoutingError extends Error {
  override readonly name = 'RoutingError';
  readonly code: RoutingErrorCode;
  /** The sentence for the client: `message` without its leading code. */
  readonly sentence: string;

  constructor(code: RoutingErrorCode, sentence: string, options?: ErrorOptions) {
    super(`[${code}] ${sentence}`, options);
    this.code = code;
    this.sentence = sentence;
  }
}

export interface ConfigIssue {
  /** Such as `schedulingProfiles[0].plugins[2].weight`. */
  readonly path: string;
  readonly message: string;
}

/** A configuration, command line or file that cannot be used. It lists every issue. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly issues: readonly ConfigIssue[];

  constructor(source: string, issues: readonly ConfigIssue[]) {
    super([`${source}:`, ...issues.map(({ path, message }) => `  ${path}: ${message}`)].join('\n'));
    this.issues = issues;
  }
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

/** For experiments, whose result means nothing without a plugin. */
export function faultError({ kind, name, call, error }: PluginFault): Error {
  return new Error(`${kind} ${name} failed in ${call}: ${messageOf(error)}`, { cause: error });
}

/** What an error says; of anything else that was thrown, its text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
