import { type RequestShape, shapeOf } from '../prompts/request-shape.ts';
import { WITHOUT_PATH } from '../request-path.ts';
import { jsonReading, type Parser, suffixParser } from './parser.ts';

const TEXT_OR_LIST = ['string', 'array'] as const;

const CHAT = {
  name: 'a chat completion',
  isChat: true,
  promptFields: ['tools', 'messages'],
  outputCaps: ['max_completion_tokens', 'max_tokens'],
  referenceParts: [
    { field: 'tools', as: 'json' },
    { field: 'messages', as: 'messages' },
  ],
} as const;
const COMPLETION = {
  name: 'a completion',
  promptFields: ['prompt'],
  listFields: ['prompt'],
  required: 'prompt',
  requiredTypes: TEXT_OR_LIST,
  // vLLM takes a prompt as embeddings, too.
  orRequired: 'prompt_embeds',
} as const;

export const CHAT_SHAPE: RequestShape = shapeOf({
  ...CHAT,
  answerKeys: { whole: '"content":', event: '"content":' },
});
export const RESPONSES_SHAPE: RequestShape = shapeOf({
  name: 'a response',
  promptFields: ['tools', 'instructions', 'input'],
  required: 'input',
  requiredTypes: TEXT_OR_LIST,
  // A response may go on from an earlier one, without anything new.
  mayBeEmpty: true,
  outputCaps: ['max_output_tokens'],
  referenceParts: [
    { field: 'instructions', as: 'json', isNamed: true },
    { field: 'tools', as: 'json', isNamed: true },
    { field: 'input', as: 'json', isNamed: true },
  ],
  // The last events have all of the text again, under another key.
  answerKeys: { whole: '"text":', event: '"delta":' },
});

/**
 * A body of any of these APIs, where no path says which: it has one of their prompts. The server
 * knows the path, and judges whether it is the right one.
 */
const ANY: RequestShape = shapeOf({
  name: 'a request',
  isChat: true,
  promptFields: ['tools', 'prompt', 'input', 'messages'],
  required: undefined,
  outputCaps: ['max_completion_tokens', 'max_tokens', 'max_output_tokens'],
  referenceParts: [
    ...CHAT.referenceParts,
    { field: 'prompt', as: 'text' },
    { field: 'input', as: 'json' },
  ],
});

/** OpenAI's APIs, as vLLM and others have them. */
export const openaiParser: Parser = suffixParser({
  '/chat/completions': jsonReading(CHAT_SHAPE),
  '/completions': jsonReading(shapeOf(COMPLETION)),
  [WITHOUT_PATH]: jsonReading(ANY),
  // They answer with the prompt's tokens: no conversation goes on from there.
  '/chat/completions/render': jsonReading(shapeOf(CHAT)),
  '/completions/render': jsonReading(shapeOf(COMPLETION)),
  '/embeddings': jsonReading(
    shapeOf({
      name: 'an embedding',
      promptFields: ['input'],
      listFields: ['input'],
      referenceParts: [{ field: 'input', as: 'embedding' }],
      required: 'input',
      requiredTypes: TEXT_OR_LIST,
      outputCaps: [],
    }),
  ),
  '/responses': jsonReading(RESPONSES_SHAPE),
  '/conversations': jsonReading(
    shapeOf({
      name: 'a conversation',
      promptFields: ['items'],
      referenceParts: [{ field: 'items', as: 'json' }],
      required: 'items',
      needsModel: false,
      takesModel: true,
      outputCaps: [],
    }),
  ),
  '/images/generations': jsonReading(
    shapeOf({
      name: 'an image generation',
      promptFields: ['prompt'],
      // The reference makes no tokens of it: engines of images keep no prefixes of prompts.
      referenceParts: [],
      required: 'prompt',
      requiredTypes: TEXT_OR_LIST,
      needsModel: false,
      takesModel: true,
      outputCaps: [],
    }),
  ),
  '/audio/speech': jsonReading(
    shapeOf({
      name: 'a speech request',
      promptFields: ['input'],
      // The reference makes no tokens of it, either.
      referenceParts: [],
      required: 'input',
      requiredTypes: ['string'],
      needsModel: false,
      takesModel: true,
      outputCaps: [],
    }),
  ),
});
