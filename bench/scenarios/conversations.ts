import type { Millis, Random } from '../../src/framework/runtime.ts';
import type { TraceRequest } from '../../src/lab/traces/trace.ts';
import type { Workload } from '../../src/lab/traces/workload.ts';
import { exponential } from './arrivals.ts';

/** Sessions in which every turn repeats all earlier turns. Lengths are in tokens. */
export interface ConversationShape {
  readonly sessions: number;
  /** When each session begins. */
  readonly starts: (index: number, random: Random) => Millis;
  /** Distinct beginnings that sessions share: system prompts, tools, documents. */
  readonly heads: {
    readonly pick: (random: Random) => number;
    readonly tokens: (head: number) => number;
  };
  readonly turns: (random: Random) => number;
  readonly questionTokens: (random: Random) => number;
  readonly answerTokens: (random: Random) => number;
  /** Approximate time from the end of an answer to the next question. */
  readonly thinkMs: Millis;
  readonly model?: (session: number, random: Random) => string;
}

export const SCENARIO_BLOCK_TOKENS = 64;
/** Approximate time per token in a busy pool: a turn comes after the last answer has ended. */
const ANSWER_TOKEN_MS = 25;
/** The longest prompt that the model accepts. */
const PROMPT_TOKENS_MAX = 120_000;

/** An open-loop workload: the pool has no effect on when the next turn comes. */
export function conversations(shape: ConversationShape, random: Random): Workload {
  const requests: TraceRequest[] = [];
  for (let session = 0; session < shape.sessions; session++) {
    const own = random.fork(`session ${session}`);
    const model = shape.model?.(session, own) ?? 'model';
    const head = shape.heads.pick(own);
    const headBlocks = Math.floor(shape.heads.tokens(head) / SCENARIO_BLOCK_TOKENS);
    let atMs = shape.starts(session, own);
    let promptTokens = shape.heads.tokens(head);
    const turns = shape.turns(own);
    for (let turn = 0; turn < turns; turn++) {
      promptTokens += Math.max(1, Math.round(shape.questionTokens(own)));
      const outputTokens = Math.max(1, Math.round(shape.answerTokens(own)));
      if (promptTokens > PROMPT_TOKENS_MAX) break;
      const blocks = Math.floor(promptTokens / SCENARIO_BLOCK_TOKENS);
      const blockIds = Array.from({ length: blocks }, (_, block) =>
        block < headBlocks ? 1 + 10_000 * head + block : -(1 + 10_000 * session + block),
      );
      requests.push({ atMs, model, promptTokens, outputTokens, blockIds });
      promptTokens += outputTokens;
      atMs += ANSWER_TOKEN_MS * outputTokens + exponential(own, shape.thinkMs);
    }
  }
  requests.sort((a, b) => a.atMs - b.atMs);
  return { blockTokens: SCENARIO_BLOCK_TOKENS, requests };
}
