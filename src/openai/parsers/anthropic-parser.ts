import { shapeOf } from '../prompts/request-shape.ts';
import { jsonReading, type Parser, suffixParser, UNREAD } from './parser.ts';

const shape = shapeOf({
  name: 'a message',
  promptFields: ['tools', 'system', 'messages'],
  referenceParts: [
    { field: 'tools', as: 'json' },
    { field: 'system', as: 'text' },
    { field: 'messages', as: 'messages' },
  ],
  answerKeys: { whole: '"text":', event: '"text":' },
});

/** Anthropic's Messages API. Counting the tokens of a message takes no engine: it is not read. */
export const anthropicParser: Parser = suffixParser({
  '/messages': jsonReading(shape),
  '/messages/count_tokens': UNREAD,
});
