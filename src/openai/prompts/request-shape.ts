/** JSON type of a body's field. */
export type FieldType = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

/** Keys as they stand in JSON, with quotes and colon. */
export interface AnswerKeys {
  readonly whole: string;
  readonly event: string;
}

/** A field of a body, and how it enters the reference picker's text of the prompt. */
export interface ReferencePart {
  readonly field: string;
  /**
   * `text`: its strings; `json`: all of it; `messages`: roles and contents; `embedding`: its ids,
   * or the JSON of the reference's struct for texts.
   */
  readonly as: 'text' | 'json' | 'messages' | 'embedding';
  /** Whether it is an object of a list, by its field's name. */
  readonly isNamed?: true;
}

/** One API's request body: the fields that make the prompt and those that bound the answer. */
export interface RequestShape {
  /** With an article, for error messages. */
  readonly name: string;
  /** Whether its fields are those of OpenAI's chat completions. */
  readonly isChat: boolean;
  /** The fields that make the prompt, in the order of the model's template. */
  readonly promptFields: readonly string[];
  /**
   * The parts of the reference's text of the prompt, in their order; by default, strings of
   * `promptFields`.
   */
  readonly referenceParts: readonly ReferencePart[];
  /**
   * Prompt fields whose list is one prompt for each element, each behind the fields that stand
   * before, and not one of all. A body has one of them.
   */
  readonly listFields: readonly string[];
  /** The prompt field that must be present; undefined where any body is passed on. */
  readonly required: string | undefined;
  readonly requiredTypes: readonly FieldType[];
  /** Whether that field may be a list without elements. */
  readonly mayBeEmpty: boolean;
  /** A field that may stand in its place. Its bytes say nothing about the prompt's length. */
  readonly orRequired: string | undefined;
  /** Whether a body without a model is refused. */
  readonly needsModel: boolean;
  /** Whether a rewrite puts a model into a body that names none. */
  readonly takesModel: boolean;
  /** Fields that cap the output; the first one present counts. `a.b` is a field of an object. */
  readonly outputCaps: readonly string[];
  readonly saltField: string;
  /** All top-level fields that are read. */
  readonly topFields: ReadonlySet<string>;
  /**
   * Where an answer has its text, if a conversation's next request has it as a message with role
   * `assistant`: the keys before the strings, in a whole answer and in its events.
   */
  readonly answerKeys: AnswerKeys | undefined;
  /** The key of the object in an answer that counts its tokens. */
  readonly usageKey: string;
}

/** Fields that are read in every API. */
const COMMON_FIELDS = ['model', 'stream', 'n', 'continue_final_message'] as const;

/** A shape with OpenAI's usual fields, and these. */
export function shapeOf(
  given: Pick<RequestShape, 'name' | 'promptFields'> & Partial<RequestShape>,
): RequestShape {
  const shape = {
    isChat: false,
    listFields: [],
    required: 'messages',
    requiredTypes: ['array'],
    mayBeEmpty: false,
    orRequired: undefined,
    needsModel: true,
    takesModel: given.needsModel ?? true,
    outputCaps: ['max_tokens'],
    saltField: 'cache_salt',
    answerKeys: undefined,
    usageKey: 'usage',
    referenceParts: given.promptFields.map((field) => ({ field, as: 'text' }) as const),
    ...given,
  } as const;
  const { promptFields, required, outputCaps, saltField } = shape;
  const caps = outputCaps.map((path) => path.split('.')[0] as string);
  const needed = [required, shape.orRequired].filter((field) => field !== undefined);
  const topFields = new Set([...COMMON_FIELDS, ...promptFields, ...needed, ...caps, saltField]);
  return { ...shape, topFields };
}
