import type { Millis, Random } from '../../src/framework/runtime.ts';
import type { Workload } from '../../src/lab/traces/workload.ts';
import { burstyArrivals, logNormal, zipf } from './arrivals.ts';
import { type ConversationShape, conversations } from './conversations.ts';

const PHASE_MS = 20_000;

/** Tokens, log-normal. */
export interface DrawnSizes {
  readonly median: number;
  readonly spread: number;
}

/** What is drawn of conversations. */
export interface DrawnConversations {
  /** Beginnings that conversations share, and how unequally they are used. */
  readonly heads: { readonly count: number; readonly skew: number; readonly tokens: number };
  readonly turnsMax: number;
  readonly question: DrawnSizes;
  readonly answer: DrawnSizes;
  readonly thinkMs: number;
  readonly burst: number;
  /** The model of a conversation; the pool's only one if left out. */
  readonly model?: ConversationShape['model'];
}

export interface Draws {
  /** Between two numbers, each as likely as any other. */
  readonly between: (low: number, high: number) => number;
  /** Between two numbers, each factor as likely as any other. */
  readonly ratio: (low: number, high: number) => number;
}

export function drawsOf(random: Random): Draws {
  const between = (low: number, high: number): number => low + (high - low) * random.next();
  return { between, ratio: (low, high) => Math.exp(between(Math.log(low), Math.log(high))) };
}

export function meanTurns({ turnsMax }: DrawnConversations): number {
  return (1 + turnsMax) / 2;
}

export function meanOf({ median, spread }: DrawnSizes): number {
  return median * Math.exp(spread ** 2 / 2);
}

/** Conversations of about so many requests, which begin `everyMs` apart in the mean. */
export function drawnWorkload(
  draw: DrawnConversations,
  { requests, everyMs }: { readonly requests: number; readonly everyMs: Millis },
  random: Random,
): Workload {
  const { heads, question, answer, burst, thinkMs } = draw;
  const sessions = Math.round(requests / meanTurns(draw));
  const arrivals = { count: sessions, meanMs: everyMs, burst, phaseMs: PHASE_MS };
  const starts = burstyArrivals(random, arrivals);
  return conversations(
    {
      sessions,
      starts: (index) => starts[index] ?? 0,
      heads: {
        pick: (own) => zipf(own, heads.count, heads.skew),
        tokens: (head) => Math.round(heads.tokens * (0.5 + ((head * 7919) % 100) / 100)),
      },
      turns: (own) => 1 + Math.floor(own.next() * draw.turnsMax),
      questionTokens: (own) => logNormal(own, question.median, question.spread),
      answerTokens: (own) => logNormal(own, answer.median, answer.spread),
      thinkMs,
      ...(draw.model && { model: draw.model }),
    },
    random,
  );
}
