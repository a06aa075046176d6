import type { Random } from '../../src/framework/runtime.ts';
import type { GenerationTerms } from './generation-request.ts';
import { TOKEN_BYTES, wordAt } from './tokenizer.ts';
import { valueFor } from './tool-arguments.ts';

/** Mean of answers that end by themselves: that of the Azure conversation trace. */
const OUTPUT_TOKENS_MEAN = 200;
/** A model with tools calls one this often when it may. */
const TOOL_SHARE = 0.5;
/** No answer is longer, whatever the model's context. */
const OUTPUT_TOKENS_MAX = 1_000_000;

/** `cache_threshold`: nothing is said, because too little of the prompt is in the cache. */
export type AnswerEnd = 'stop' | 'length' | 'tool_calls' | 'cache_threshold';

/** What will be said, settled before the first token: the engine only says when. */
export interface Answer {
  readonly tokens: number;
  readonly end: AnswerEnd;
  readonly toolName: string | undefined;
  /** The text of one token, 0 to `tokens` - 1; of a tool call, a piece of its arguments. */
  text(index: number): string;
}

export interface AnswerLimits {
  /** Exactly so many tokens, whatever the request says. */
  readonly forcedTokens: number | undefined;
  /** What is left of the model's context. */
  readonly contextLeft: number;
}

/** The same answer for the same request and chance. */
export function planAnswer(
  request: GenerationTerms,
  random: Random,
  { forcedTokens, contextLeft }: AnswerLimits,
): Answer {
  const { outputTokensMax = OUTPUT_TOKENS_MAX, outputTokensMin, ignoreEos } = request;
  const cap = Math.max(1, Math.min(outputTokensMax, contextLeft));
  if (callsTool(request, random)) return toolCall(request, random, cap);
  const drawn = Math.max(1, Math.round(-Math.log(1 - random.next()) * OUTPUT_TOKENS_MEAN));
  const seed = Math.floor(random.next() * 2 ** 31);
  const text = (index: number): string => wordAt(seed, index);
  if (forcedTokens !== undefined) {
    return { tokens: Math.min(forcedTokens, cap), end: 'length', toolName: undefined, text };
  }
  const wanted = ignoreEos ? cap : Math.max(outputTokensMin, drawn);
  const end: AnswerEnd =
    wanted < cap || (wanted === drawn && !ignoreEos && wanted === cap) ? 'stop' : 'length';
  const answer: Answer = { tokens: Math.min(wanted, cap), end, toolName: undefined, text };
  return request.stop.length === 0 ? answer : cutAt(request.stop, answer);
}

function callsTool({ tools, mustCallTool }: GenerationTerms, random: Random): boolean {
  return tools.length > 0 && (mustCallTool || random.next() < TOOL_SHARE);
}

function toolCall({ tools }: GenerationTerms, random: Random, cap: number): Answer {
  const tool = tools[Math.floor(random.next() * tools.length)];
  const json = JSON.stringify(valueFor(tool?.parameters, random));
  const tokens = Math.max(1, Math.ceil(json.length / TOKEN_BYTES));
  return {
    tokens: Math.min(tokens, cap),
    end: tokens > cap ? 'length' : 'tool_calls',
    toolName: tool?.name,
    text: (index) => json.slice(TOKEN_BYTES * index, TOKEN_BYTES * (index + 1)),
  };
}

/** Ends before the first of the stop strings, which is not part of the answer. */
function cutAt(stop: readonly string[], answer: Answer): Answer {
  let said = '';
  for (let index = 0; index < answer.tokens; index++) {
    said += answer.text(index);
    const found = Math.min(
      ...stop
        .map((each) => (each === '' ? -1 : said.indexOf(each)))
        .map((at) => (at < 0 ? Infinity : at)),
    );
    if (found === Number.POSITIVE_INFINITY) continue;
    const text = (at: number): string =>
      said.slice(0, found).slice(TOKEN_BYTES * at, TOKEN_BYTES * (at + 1));
    return { tokens: index + 1, end: 'stop', toolName: undefined, text };
  }
  return answer;
}
