import type { ParserType } from '../../framework/parser-type.ts';
import { apiPath } from '../api-path.ts';
import { anthropicParser } from './anthropic-parser.ts';
import { openaiParser } from './openai-parser.ts';
import { type Claim, type Parser, type Reading, UNREAD } from './parser.ts';
import { rankingParser } from './ranking-parser.ts';
import { sglanghttpParser, sglangOrTextParser } from './sglanghttp-parser.ts';
import { vertexaiParser } from './vertexai-parser.ts';
import { vllmgrpcParser } from './vllmgrpc-parser.ts';
import { vllmhttpParser } from './vllmhttp-parser.ts';

const ANY_PATH: Claim = { length: 0, reading: UNREAD };
/** Reads nothing of any request. */
const passthroughParser: Parser = () => ANY_PATH;

const BY_TYPE: Readonly<Record<ParserType, Parser>> = {
  'openai-parser': openaiParser,
  'anthropic-parser': anthropicParser,
  'vllmhttp-parser': vllmhttpParser,
  'sglanghttp-parser': sglanghttpParser,
  'vllmgrpc-parser': vllmgrpcParser,
  'vertexai-parser': vertexaiParser,
  'passthrough-parser': passthroughParser,
};

/** Where no parsers are configured: the reference's, SGLang's API, and those for rankings. */
const BY_DEFAULT: readonly Parser[] = [
  openaiParser,
  anthropicParser,
  vllmhttpParser,
  sglangOrTextParser,
  rankingParser,
  passthroughParser,
];

/**
 * How the bodies of a path are read; undefined where no parser claims it. Where several
 * claim it, the longest claim counts, and the first of equal ones.
 */
export function selectReading(
  types: readonly ParserType[] = [],
): (path: string) => Reading | undefined {
  const parsers = types.length === 0 ? BY_DEFAULT : types.map((type) => BY_TYPE[type]);
  return (path) => {
    const bare = apiPath(path);
    let longest: Claim | undefined;
    for (const parser of parsers) {
      const claim = parser(bare);
      if (claim !== undefined && claim.length > (longest?.length ?? -1)) longest = claim;
    }
    return longest?.reading;
  };
}
