/** Kinds of failures that llm-d-inference-sim injects, by their names there. */
export const FAILURE_TYPES = [
  'rate_limit',
  'invalid_api_key',
  'context_length',
  'server_error',
  'invalid_request',
  'model_not_found',
] as const;

export type FailureType = (typeof FAILURE_TYPES)[number];

interface Failure {
  readonly status: number;
  readonly message: string;
}

/** The answer to a request that fails so. */
export const FAILURES: Readonly<Record<FailureType, Failure>> = {
  rate_limit: { status: 429, message: 'Rate limit reached. Try again later.' },
  invalid_api_key: { status: 401, message: 'Incorrect API key provided.' },
  context_length: {
    status: 400,
    message: "The request is longer than the model's maximum context length.",
  },
  server_error: { status: 503, message: 'The server is overloaded or not ready yet.' },
  invalid_request: { status: 400, message: 'Invalid request.' },
  model_not_found: { status: 404, message: 'The model does not exist.' },
};
