/** The reference's names for the ways in which requests are read. */
export const PARSER_TYPES = [
  'openai-parser',
  'anthropic-parser',
  'vllmhttp-parser',
  'sglanghttp-parser',
  'vllmgrpc-parser',
  'vertexai-parser',
  'passthrough-parser',
] as const;

export type ParserType = (typeof PARSER_TYPES)[number];
