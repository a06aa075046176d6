import type { RequestShape } from '../prompts/request-shape.ts';
import { CHAT_SHAPE, RESPONSES_SHAPE } from './openai-parser.ts';
import { type Claim, type Parser, type Reading, suffixParser, UNREAD } from './parser.ts';
import { VertexAiBody } from './vertexai-body.ts';

/** In lower case, as parsers get paths. */
const SERVICE = 'predictionservice/';
const ANY_METHOD: Claim = { length: SERVICE.length, reading: UNREAD };

const wrapped = suffixParser({
  [`${SERVICE}chatcompletions`]: readingOf(CHAT_SHAPE),
  [`${SERVICE}rawpredict`]: readingOf(RESPONSES_SHAPE),
  [`${SERVICE}streamrawpredict`]: readingOf(RESPONSES_SHAPE),
});

/**
 * Vertex AI's gRPC service, whose messages hold JSON. Messages of its other methods are not read.
 */
export const vertexaiParser: Parser = (path) =>
  wrapped(path) ?? (path.includes(SERVICE) ? ANY_METHOD : undefined);

function readingOf(shape: RequestShape): Reading {
  return { open: (parts) => new VertexAiBody(parts, shape) };
}
