import { type RequestShape, shapeOf } from '../prompts/request-shape.ts';
import { jsonReading, type Parser } from './parser.ts';

const SHAPE = {
  name: 'a generate request',
  promptFields: ['input_ids', 'text'],
  needsModel: false,
  outputCaps: ['sampling_params.max_new_tokens'],
  saltField: 'extra_key',
  usageKey: 'meta_info',
} as const;

/** SGLang's own API, for bodies with token ids; others are refused, as by the reference. */
export const sglanghttpParser: Parser = parserOf(shapeOf({ ...SHAPE, required: 'input_ids' }));

/**
 * SGLang's own API where no parsers are configured: a body with text, or any other, is passed on.
 */
export const sglangOrTextParser: Parser = parserOf(shapeOf({ ...SHAPE, required: undefined }));

/** Exactly this path, since `/generate` ends other paths, too. */
function parserOf(shape: RequestShape): Parser {
  const path = '/generate';
  const claim = { length: path.length, reading: jsonReading(shape) };
  return (given) => (given === path ? claim : undefined);
}
