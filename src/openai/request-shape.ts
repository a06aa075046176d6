import { apiPath } from './api-path.ts';

/** JSON type of a body's field. */
export type FieldType = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

/** One API's request body: the fields that make the prompt and those that bound the answer. */
export interface RequestShape {
  /** With an article, for error messages. */
  readonly name: string;
  /** The fields that make the prompt, in the order of the model's template. */
  readonly promptFields: readonly string[];
  /** The prompt field that must be present. */
  readonly required: string;
  readonly requiredTypes: readonly FieldType[];
  /** Whether the API names a model. */
  readonly needsModel: boolean;
  /** Fields that cap the output; the first one present counts. `a.b` is a field of an object. */
  readonly outputCaps: readonly string[];
  readonly saltField: string;
  /** All top-level fields that are read. */
  readonly topFields: ReadonlySet<string>;
  /** Whether a conversation's next request has the answer as a message with role `assistant`. */
  readonly answersAsMessage?: boolean;
}

const OPENAI = {
  required: 'messages',
  requiredTypes: ['array'],
  needsModel: true,
  outputCaps: ['max_tokens'],
  saltField: 'cache_salt',
} as const;
const TEXT_OR_LIST = ['string', 'array'] as const;

/** Fields that are read in every API. */
const COMMON_FIELDS = ['model', 'stream', 'n', 'continue_final_message'] as const;

/** By the end of the path. */
const SHAPES: ReadonlyMap<string, RequestShape> = shapesOf({
  '/chat/completions': {
    ...OPENAI,
    name: 'a chat completion',
    promptFields: ['tools', 'messages'],
    outputCaps: ['max_completion_tokens', 'max_tokens'],
    answersAsMessage: true,
  },
  '/completions': {
    ...OPENAI,
    name: 'a completion',
    promptFields: ['prompt'],
    required: 'prompt',
    requiredTypes: TEXT_OR_LIST,
  },
  '/embeddings': {
    ...OPENAI,
    name: 'an embedding',
    promptFields: ['input'],
    required: 'input',
    requiredTypes: TEXT_OR_LIST,
    outputCaps: [],
  },
  '/responses': {
    ...OPENAI,
    name: 'a response',
    promptFields: ['tools', 'instructions', 'input'],
    required: 'input',
    requiredTypes: TEXT_OR_LIST,
    outputCaps: ['max_output_tokens'],
  },
  '/messages': { ...OPENAI, name: 'a message', promptFields: ['tools', 'system', 'messages'] },
  '/inference/v1/generate': {
    ...OPENAI,
    name: 'a generate request',
    promptFields: ['token_ids'],
    required: 'token_ids',
    needsModel: false,
    outputCaps: ['sampling_params.max_tokens'],
  },
});

/** SGLang's own API: exactly this path, since `/generate` ends other paths, too. */
const SGLANG_PATH = '/generate';
const SGLANG: RequestShape = shapeOf({
  ...OPENAI,
  name: 'a generate request',
  promptFields: ['input_ids'],
  required: 'input_ids',
  needsModel: false,
  outputCaps: ['sampling_params.max_new_tokens'],
  saltField: 'extra_key',
});

/** The shape of the body sent to a path; undefined if such a body is not read. */
export function requestShapeFor(path: string): RequestShape | undefined {
  const bare = apiPath(path);
  if (bare === SGLANG_PATH) return SGLANG;
  let longest = '';
  for (const suffix of SHAPES.keys()) {
    if (bare.endsWith(suffix) && suffix.length > longest.length) longest = suffix;
  }
  return SHAPES.get(longest);
}

function shapesOf(
  shapes: Readonly<Record<string, Omit<RequestShape, 'topFields'>>>,
): ReadonlyMap<string, RequestShape> {
  return new Map(Object.entries(shapes).map(([suffix, shape]) => [suffix, shapeOf(shape)]));
}

function shapeOf(shape: Omit<RequestShape, 'topFields'>): RequestShape {
  const { promptFields, required, outputCaps, saltField } = shape;
  const caps = outputCaps.map((path) => path.split('.')[0] as string);
  const topFields = new Set([...COMMON_FIELDS, ...promptFields, required, ...caps, saltField]);
  return { ...shape, topFields };
}
