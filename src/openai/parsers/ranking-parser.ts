import { type RequestShape, shapeOf } from '../prompts/request-shape.ts';
import { jsonReading, type Parser, suffixParser } from './parser.ts';

/** What all of them have: an answer of numbers, and a model that may be left out. */
const RANKING = {
  required: undefined,
  needsModel: false,
  takesModel: true,
  outputCaps: [],
  // The reference does not read them.
  referenceParts: [],
} as const;

const RERANK: RequestShape = shapeOf({
  ...RANKING,
  name: 'a rerank request',
  // `texts` is what Hugging Face's server calls them.
  promptFields: ['query', 'texts', 'documents'],
  listFields: ['texts', 'documents'],
});
/** The names that vLLM and SGLang have for what texts are compared with, and for these texts. */
const SCORED_BY = ['query', 'queries', 'data_1', 'text_1'];
const SCORED = ['items', 'data_2', 'documents', 'text_2'];
const SCORE: RequestShape = shapeOf({
  ...RANKING,
  name: 'a score request',
  promptFields: [...SCORED_BY, ...SCORED],
  listFields: SCORED,
});
const CLASSIFY: RequestShape = shapeOf({
  ...RANKING,
  name: 'a pooling request',
  promptFields: ['messages', 'text', 'input_ids', 'input'],
  listFields: ['text', 'input_ids', 'input'],
});

/**
 * The APIs of vLLM, SGLang and others for models that rank, score and classify. They are read where
 * no parsers are configured; the reference passes their bodies on unread, and so does any
 * configuration that names parsers.
 */
export const rankingParser: Parser = suffixParser({
  '/rerank': jsonReading(RERANK),
  '/score': jsonReading(SCORE),
  '/generative_scoring': jsonReading(SCORE),
  '/classify': jsonReading(CLASSIFY),
  '/pooling': jsonReading(CLASSIFY),
});
