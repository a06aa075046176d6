import type { Random } from '../../src/framework/runtime.ts';
import { type PoolSpec, uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { type DrawnFamily, scenarioOf } from './drawn-family.ts';
import { type DrawnConversations, type Draws, meanOf, meanTurns } from './drawn-workload.ts';
import { mixedPool, presetServer } from './pools.ts';
import type { Scenario } from './scenario.ts';

/** Approximate milliseconds for each token of an answer, and to compute one of a prompt. */
export const KINDS = [
  { name: 'llama-3.1-8b-h100', answerMs: 10, promptMs: 0.025 },
  { name: 'llama-3.1-8b-a100', answerMs: 14, promptMs: 0.06 },
  { name: 'llama-3.1-8b-l40s', answerMs: 24, promptMs: 0.09 },
] as const;
export type ServerKind = (typeof KINDS)[number];
/** At most so many answers are written together, as far as the rate is chosen. */
const BATCH_MAX = 64;
/** A request adds about so much of its shared beginning to the memory in use. */
const HEAD_SHARE = 0.2;
const PROMPT_LOAD_MAX = 0.7;

interface Draw extends DrawnConversations {
  readonly servers: number;
  readonly kind: ServerKind;
  /** KV memory of each server, or of each that decodes. */
  readonly kvTokens: number;
  /** The share of the memory that answers and prompts would take for their time. */
  readonly load: number;
}

const SHARED = { requests: { small: 800, full: 4000 }, draw: drawFrom, everyMs };
const SHORT: DrawnFamily<Draw> = {
  ...SHARED,
  prefix: 'memory-short',
  pool: poolOf,
  about: (draw) => aboutOf(draw, ''),
};
const SPLIT: DrawnFamily<Draw> = {
  ...SHARED,
  prefix: 'decode-memory-short',
  pool: splitPoolOf,
  about: (draw) => aboutOf(draw, ' that decode'),
  disaggregated: 'first-token',
};

/**
 * A random scenario in which KV memory is short before the time for prompts is. With `decode-` the
 * servers that decode are short of it.
 */
export function drawnCondition(name: string): Scenario | undefined {
  return scenarioOf(SHORT, name) ?? scenarioOf(SPLIT, name);
}

function drawFrom({ between, ratio }: Draws, random: Random): Draw {
  return {
    servers: Math.round(ratio(3, 12)),
    kind: KINDS[Math.floor(random.next() * KINDS.length)] ?? KINDS[0],
    kvTokens: Math.round(ratio(25_000, 120_000)),
    heads: { count: Math.round(ratio(1, 200)), skew: between(0, 1.2), tokens: ratio(100, 4000) },
    turnsMax: Math.round(ratio(1, 6)),
    question: { median: ratio(100, 1500), spread: between(0.5, 1) },
    answer: { median: ratio(150, 900), spread: between(0.4, 0.9) },
    thinkMs: ratio(1000, 20_000),
    burst: random.next() < 0.5 ? 1 : ratio(1.5, 5),
    load: between(0.6, 1.1),
  };
}

/** The mean time between two sessions that gives the drawn load. */
function everyMs(draw: Draw): number {
  const { kind, heads, kvTokens, servers, load } = draw;
  const [question, answer, turns] = [meanOf(draw.question), meanOf(draw.answer), meanTurns(draw)];
  const ownTokens = ((question + answer) * (turns + 1)) / 2;
  const batch = Math.min(BATCH_MAX, kvTokens / (ownTokens + HEAD_SHARE * heads.tokens));
  const answersMs = (turns * answer * kind.answerMs * (1 + batch / 100)) / batch;
  const promptsMs = kind.promptMs * turns * (question + 0.3 * (ownTokens + heads.tokens));
  return Math.max(answersMs / (load * servers), promptsMs / (PROMPT_LOAD_MAX * servers));
}

function poolOf({ servers, kind, kvTokens }: Draw): PoolSpec {
  return uniformPool(servers, { ...presetServer(kind.name), kvTokens });
}

/** As many servers decode, and half as many compute prompts. */
function splitPoolOf({ servers, kind, kvTokens }: Draw): PoolSpec {
  const server = presetServer(kind.name);
  return mixedPool([
    [Math.ceil(servers / 2), { ...server, labels: { 'llm-d.ai/role': 'prefill' } }],
    [servers, { ...server, kvTokens, labels: { 'llm-d.ai/role': 'decode' } }],
  ]);
}

function aboutOf({ servers, kind, kvTokens, question, answer }: Draw, which: string): string {
  const whole = (value: number): string => value.toFixed(0);
  return (
    `${servers} ${kind.name}${which} with memory for ${whole(kvTokens)} tokens, ` +
    `questions of ${whole(question.median)} and answers of ${whole(answer.median)} tokens`
  );
}
