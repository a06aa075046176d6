import type { Millis, Random } from '../../src/framework/runtime.ts';
import type { TraceRequest } from '../../src/lab/traces/trace.ts';
import type { Workload } from '../../src/lab/traces/workload.ts';
import { exponential } from './arrivals.ts';

/** Sessions whose every turn carries all that was said before. Lengths in tokens. */
export interface ConversationShape {
  readonly sessions: number;
  /** When each session begins. */
  readonly starts: (index: number, random: Random) => Millis;
  /** Distinct prompts that sessions share as their beginning: system prompts, tools, documents. */
  readonly heads: {
    readonly pick: (random: Random) => number;
    readonly tokens: (head: number) => number;
  };
  readonly turns: (random: Random) => number;
  readonly questionTokens: (random: Random) => number;
  readonly answerTokens: (random: Random) => number;
  /** From the start of an answer, roughly, to the next question. */
  readonly thinkMs: Millis;
  readonly model?: (session: number, random: Random) => string;
}

export const SCENARIO_BLOCK_TOKENS = 64;
/** About what a token takes in a busy pool: a turn cannot come before the last answer has. */
const ANSWER_TOKEN_MS = 25;
/** What the model of the trace can take. */
const PROMPT_TOKENS_MAX = 120_000;

/** An open-loop workload: what a pool does has no effect on when the next turn comes. */
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
