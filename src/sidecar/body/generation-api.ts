import { apiPath } from '../../openai/api-path.ts';
import { JsonObject } from '../../openai/json/json-object.ts';

/** An API that generates tokens, as far as its two legs differ from those of other APIs. */
export interface GenerationApi {
  /** Its name in the labels of metrics, as in the reference. */
  readonly name: string;
  /** Fields that bound the answer. */
  readonly caps: readonly string[];
  /** Whether the caps are in `sampling_params`. */
  readonly nested: boolean;
  /** Whether a server stores the answer unless `store` is false. */
  readonly stores: boolean;
}

const plain = { nested: false, stores: false };

const APIS: ReadonlyMap<string, GenerationApi> = new Map([
  [
    '/v1/chat/completions',
    { ...plain, name: 'chat_completions', caps: ['max_tokens', 'max_completion_tokens'] },
  ],
  ['/v1/completions', { ...plain, name: 'completions', caps: ['max_tokens'] }],
  ['/v1/responses', { ...plain, name: 'responses', caps: ['max_output_tokens'], stores: true }],
  ['/v1/messages', { ...plain, name: 'messages', caps: ['max_tokens'] }],
  ['/inference/v1/generate', { ...plain, name: 'generate', caps: ['max_tokens'], nested: true }],
  ['/generate', { ...plain, name: 'sglang_generate', caps: ['max_new_tokens'], nested: true }],
]);

/** Names of all generating APIs. */
export const API_NAMES: readonly string[] = [...APIS.values()].map(({ name }) => name);

/** The API of a path without a query; undefined for a path that generates nothing. */
export function apiOf(path: string): GenerationApi | undefined {
  return APIS.get(path);
}

/**
 * The target of a request with the plain path of its API, where servers that pass over slashes and
 * encodings would read it as one; any other target as it is.
 */
export function plainTarget(target: string): string {
  const path = apiPath(target);
  const query = target.indexOf('?');
  return APIS.has(path) ? `${path}${query < 0 ? '' : target.slice(query)}` : target;
}

/** Parameters of a transfer by their names, as JSON texts. */
type Transfer = Readonly<Record<string, Buffer | string | JsonObject>>;

/**
 * The request for one token in one piece: what a server is asked that only computes a prompt. With
 * the parameters of a transfer as in `withTransfer`.
 */
export function cappedToOneToken(
  body: JsonObject,
  api: GenerationApi,
  transfer: Transfer = {},
): JsonObject {
  const { caps, nested, stores } = api;
  const whole = body.with({
    stream: 'false',
    stream_options: undefined,
    ...(stores && { store: 'false' }),
    ...transfer,
  });
  // `min_tokens` would be above the cap.
  const limits = { ...Object.fromEntries(caps.map((cap) => [cap, '1'])), min_tokens: undefined };
  if (!nested) return whole.with(limits);
  const sampling = objectAt(body, 'sampling_params').with(limits);
  return whole.with({ sampling_params: withExtra(sampling, transfer) });
}

/** The request with parameters of a transfer where servers of this API read them. */
export function withTransfer(
  body: JsonObject,
  { nested }: GenerationApi,
  transfer: Transfer,
): JsonObject {
  const whole = body.with(transfer);
  if (!nested) return whole;
  return whole.with({ sampling_params: withExtra(objectAt(body, 'sampling_params'), transfer) });
}

function withExtra(sampling: JsonObject, transfer: Transfer): JsonObject {
  if (Object.keys(transfer).length === 0) return sampling;
  return sampling.with({ extra_args: objectAt(sampling, 'extra_args').with(transfer) });
}

function objectAt(object: JsonObject, name: string): JsonObject {
  return object.object(name) ?? JsonObject.EMPTY;
}
