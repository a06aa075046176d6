import type { Random } from '../../../src/framework/runtime.ts';
import type { AnswerTexts } from '../replica/answer-texts.ts';
import type { GenerationTerms } from '../requests/read-generation.ts';
import { TOKEN_BYTES, wordAt } from '../requests/tokenizer.ts';
import { valueFor } from './tool-arguments.ts';

/** Mean length of an answer that the model ends: that of the Azure conversation trace. */
const OUTPUT_TOKENS_MEAN = 200;
/** Probability of a tool call if the request allows one. */
const TOOL_SHARE = 0.5;
/** Limit for any model context. */
const OUTPUT_TOKENS_MAX = 1_000_000;

/** `cache_threshold`: no tokens, because too little of the prompt is in the cache. */
type AnswerEnd = 'stop' | 'length' | 'tool_calls' | 'cache_threshold';

/** The content of an answer, fixed before the first token; the engine only sets the timing. */
export interface Answer {
  readonly tokens: number;
  readonly end: AnswerEnd;
  readonly toolName: string | undefined;
  /** The stop string that has ended it, if one has. */
  readonly stoppedBy?: string;
  /** The text of token 0 to `tokens` - 1; for a tool call, a piece of its arguments. */
  text(index: number): string;
}

interface AnswerLimits {
  /** Exact number of tokens, instead of what the request says. */
  readonly forcedTokens: number | undefined;
  /** Tokens left in the model's context. */
  readonly contextLeft: number;
  /** Gives the text of the answer, if it is not made up. */
  readonly texts?: AnswerTexts | undefined;
  /** What was asked last. */
  readonly asked: () => string;
}

/** Plans an answer; equal requests and equal random numbers give equal answers. */
export function planAnswer(
  request: GenerationTerms,
  random: Random,
  { forcedTokens, contextLeft, texts, asked }: AnswerLimits,
): Answer {
  const { outputTokensMax = OUTPUT_TOKENS_MAX, outputTokensMin, ignoreEos } = request;
  const cap = Math.max(1, Math.min(outputTokensMax, contextLeft));
  if (callsTool(request, random)) return toolCall(request, random, cap);
  const given = texts?.(asked, random);
  if (given !== undefined) return cutAt(request.stop, givenAnswer(given, forcedTokens, cap));
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
  return cutAt(request.stop, answer);
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

/** An answer of known text, as far as the limits let it go. */
function givenAnswer(given: string, forcedTokens: number | undefined, cap: number): Answer {
  const wanted = Math.max(1, Math.ceil(given.length / TOKEN_BYTES));
  const tokens = Math.min(wanted, forcedTokens ?? wanted, cap);
  return {
    tokens,
    end: tokens < wanted ? 'length' : 'stop',
    toolName: undefined,
    text: (index) => given.slice(TOKEN_BYTES * index, TOKEN_BYTES * (index + 1)),
  };
}

/** Cuts the answer before the first stop string. */
function cutAt(stop: readonly string[], answer: Answer): Answer {
  const stops = stop.filter((each) => each !== '');
  if (stops.length === 0) return answer;
  let generated = '';
  for (let index = 0; index < answer.tokens; index++) {
    generated += answer.text(index);
    const [first] = stops
      .filter((each) => generated.includes(each))
      .toSorted((a, b) => generated.indexOf(a) - generated.indexOf(b));
    if (first === undefined) continue;
    const kept = generated.slice(0, generated.indexOf(first));
    const text = (at: number): string => kept.slice(TOKEN_BYTES * at, TOKEN_BYTES * (at + 1));
    return { tokens: index + 1, end: 'stop', toolName: undefined, stoppedBy: first, text };
  }
  return answer;
}
