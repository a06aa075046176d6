import { shapeOf } from '../prompts/request-shape.ts';
import { openaiParser } from './openai-parser.ts';
import { jsonReading, type Parser, suffixParser } from './parser.ts';

const generate = suffixParser({
  '/inference/v1/generate': jsonReading(
    shapeOf({
      name: 'a generate request',
      promptFields: ['token_ids'],
      required: 'token_ids',
      needsModel: false,
      outputCaps: ['sampling_params.max_tokens'],
    }),
  ),
});

/**
 * vLLM's API for token ids. Alone it reads OpenAI's APIs, too, as the reference's documents say.
 */
export const vllmhttpParser: Parser = (path) => generate(path) ?? openaiParser(path);
