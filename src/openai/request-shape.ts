/** What a field of the body may be. */
export type FieldType = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

/** One API's request body: which fields make the prompt and which bound the answer. */
export interface RequestShape {
  /** As a client would call it, for error sentences. */
  readonly name: string;
  /** The fields that make the prompt, in the order the model's template puts them. */
  readonly promptFields: readonly string[];
  /** The one of them that must be there. */
  readonly required: string;
  readonly requiredTypes: readonly FieldType[];
  /** Whether the engine API names a model at all. */
  readonly needsModel: boolean;
  /** Fields that cap the output, the first one present wins; `a.b` is a field of an object. */
  readonly outputCaps: readonly string[];
  readonly saltField: string;
  /** Whether a conversation's next body has the answer as one more of its messages, with role `assistant`. */
  readonly answersAsMessage?: boolean;
}

const openAi = { needsModel: true, saltField: 'cache_salt' } as const;

const SHAPES: ReadonlyMap<string, RequestShape> = new Map<string, RequestShape>([
  [
    '/chat/completions',
    {
      ...openAi,
      name: 'a chat completion',
      promptFields: ['tools', 'messages'],
      required: 'messages',
      requiredTypes: ['array'],
      outputCaps: ['max_completion_tokens', 'max_tokens'],
      answersAsMessage: true,
    },
  ],
  [
    '/completions',
    {
      ...openAi,
      name: 'a completion',
      promptFields: ['prompt'],
      required: 'prompt',
      requiredTypes: ['string', 'array'],
      outputCaps: ['max_tokens'],
    },
  ],
  [
    '/embeddings',
    {
      ...openAi,
      name: 'an embedding',
      promptFields: ['input'],
      required: 'input',
      requiredTypes: ['string', 'array'],
      outputCaps: [],
    },
  ],
  [
    '/responses',
    {
      ...openAi,
      name: 'a response',
      promptFields: ['tools', 'instructions', 'input'],
      required: 'input',
      requiredTypes: ['string', 'array'],
      outputCaps: ['max_output_tokens'],
    },
  ],
  [
    '/messages',
    {
      ...openAi,
      name: 'a message',
      promptFields: ['tools', 'system', 'messages'],
      required: 'messages',
      requiredTypes: ['array'],
      outputCaps: ['max_tokens'],
    },
  ],
  [
    '/inference/v1/generate',
    {
      name: 'a generate request',
      promptFields: ['token_ids'],
      required: 'token_ids',
      requiredTypes: ['array'],
      needsModel: false,
      outputCaps: ['sampling_params.max_tokens'],
      saltField: 'cache_salt',
    },
  ],
]);

/** SGLang's own API: exactly this path, since `/generate` ends other paths too. */
const SGLANG_PATH = '/generate';
const SGLANG: RequestShape = {
  name: 'a generate request',
  promptFields: ['input_ids'],
  required: 'input_ids',
  requiredTypes: ['array'],
  needsModel: false,
  outputCaps: ['sampling_params.max_new_tokens'],
  saltField: 'extra_key',
};

/** The shape of the body sent to a path, by its ending; undefined for a path whose body is passed on unread. */
export function requestShapeFor(path: string): RequestShape | undefined {
  const query = path.indexOf('?');
  const bare = (query < 0 ? path : path.slice(0, query)).replace(/\/+$/, '');
  if (bare === SGLANG_PATH) return SGLANG;
  let longest = '';
  for (const suffix of SHAPES.keys()) {
    if (bare.endsWith(suffix) && suffix.length > longest.length) longest = suffix;
  }
  return SHAPES.get(longest);
}
