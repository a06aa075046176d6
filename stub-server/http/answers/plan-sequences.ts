import { ApiError } from '../replica/api-error.ts';
import type { StubReplica } from '../replica/stub-replica.ts';
import type { GenerationRequest, GenerationTerms } from '../requests/read-generation.ts';
import { chainedHashes, TOKEN_BYTES, tokenIdsOf } from '../requests/tokenizer.ts';
import { type Answer, planAnswer } from './plan-answer.ts';

/** One answer to one prompt. */
export interface PlannedSequence {
  readonly promptTokens: number;
  /** Tokens of prompt and answer; undefined without KV events, to save memory. */
  readonly tokenIds: Int32Array | undefined;
  /** Hashes of the full blocks of prompt and answer. */
  readonly hashes: Float64Array;
  readonly answer: Answer;
  /** Whether the usage counts the prompt: only for the first of several answers to it. */
  readonly countsPrompt: boolean;
}

/** Without hashes nothing is found in the cache. */
const NO_HASHES = new Float64Array(0);
/** A body of 1 MB could ask for 25 million sequences, which no process can hold. */
const SEQUENCES_MAX = 4096;
/** The most tokens of all prompts and answers of a request: 256 answers of 128k tokens each. */
const TOKENS_MAX = 32 * 1024 * 1024;

interface PlanParts {
  readonly replica: StubReplica;
  readonly prompts: GenerationRequest['prompts'];
  readonly asked: GenerationRequest['asked'];
  readonly forcedTokens: number | undefined;
}

/**
 * Plans `n` sequences for each prompt. Throws ApiError for a prompt that is too long, and for more
 * sequences or tokens than one request may have.
 */
export function planSequences(
  terms: GenerationTerms,
  parts: PlanParts,
): readonly PlannedSequence[] {
  const { options, loras } = parts.replica;
  const { blockTokens } = options;
  const publishes = (options.kvEventsTarget ?? options.kvEventsPort) !== undefined;
  const root = `${loras.has(terms.model) ? terms.model : ''}\n${terms.cacheSalt}`;
  // A refused request costs no tokens: making those of long answers takes seconds.
  return planAnswers(terms, parts).map(({ prompt, answer, countsPrompt }) => {
    const answerIds = answerTokenIds(answer);
    return {
      promptTokens: prompt.length,
      tokenIds: publishes ? joined(prompt, answerIds) : undefined,
      hashes: options.prefixCaching
        ? chainedHashes(prompt, { blockTokens, root, answer: answerIds })
        : NO_HASHES,
      answer,
      countsPrompt,
    };
  });
}

interface PlannedAnswer {
  readonly prompt: Int32Array;
  readonly answer: Answer;
  readonly countsPrompt: boolean;
}

function planAnswers(
  terms: GenerationTerms,
  { replica, prompts, asked, forcedTokens }: PlanParts,
): readonly PlannedAnswer[] {
  const { random, contextTokensMax, stats, texts } = replica;
  if (prompts.length * terms.n > SEQUENCES_MAX) {
    const asked = `${prompts.length} prompts with ${terms.n} answers each`;
    throw new ApiError(400, `${asked} are more than the ${SEQUENCES_MAX} sequences of a request`);
  }
  let tokens = 0;
  return prompts.flatMap((prompt, place) => {
    checkLength(terms, prompt.length, contextTokensMax);
    return Array.from({ length: terms.n }, (_, choice) => {
      const seed =
        terms.seed === undefined ? `answer ${stats.requests + place}` : `seed ${terms.seed}`;
      const answer = planAnswer(terms, random.fork(`${seed} ${choice}`), {
        forcedTokens,
        contextLeft: contextTokensMax - prompt.length,
        texts,
        asked: () => asked(place),
      });
      tokens += prompt.length + answer.tokens;
      if (tokens > TOKENS_MAX)
        throw new ApiError(400, `the request has more than ${TOKENS_MAX} tokens`);
      return { prompt, answer, countsPrompt: choice === 0 };
    });
  });
}

function checkLength(
  { outputTokensMax }: GenerationTerms,
  promptTokens: number,
  contextTokensMax: number,
): void {
  const wanted = promptTokens + (outputTokensMax ?? 1);
  const fits = outputTokensMax === undefined || wanted <= contextTokensMax;
  if (promptTokens < contextTokensMax && fits) return;
  const message = `This model's maximum context length is ${contextTokensMax} tokens. However, you requested ${wanted} tokens (${promptTokens} in the messages, ${wanted - promptTokens} in the completion). Please reduce the length of the messages or completion.`;
  throw new ApiError(400, message);
}

function answerTokenIds(answer: Answer): Int32Array {
  const bytes = Buffer.alloc(TOKEN_BYTES * answer.tokens);
  for (let index = 0; index < answer.tokens; index++) {
    bytes.write(answer.text(index), TOKEN_BYTES * index, TOKEN_BYTES);
  }
  return tokenIdsOf(bytes);
}

function joined(prompt: Int32Array, answer: Int32Array): Int32Array {
  const ids = new Int32Array(prompt.length + answer.length);
  ids.set(prompt);
  ids.set(answer, prompt.length);
  return ids;
}
