import type { Random } from '../../src/framework/runtime.ts';
import { type PoolSpec, uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { type DrawnFamily, scenarioOf } from './drawn-family.ts';
import { type DrawnConversations, type Draws, meanOf, meanTurns } from './drawn-workload.ts';
import { mixedPool, presetServer, studyServer } from './pools.ts';
import type { Scenario } from './scenario.ts';

const REQUESTS = { small: 1500, full: 12_000 };

/** Approximate milliseconds to compute a prompt token, to choose the rate for a load. */
const KINDS = [
  { name: 'llama-3.1-8b-h100', prefillMs: 0.025 },
  { name: 'llama-3.1-8b-a100', prefillMs: 0.06 },
  { name: 'llama-3.1-8b-l40s', prefillMs: 0.09 },
  { name: 'study', prefillMs: 0.04 },
] as const;
/** Approximate milliseconds per generated token, and more for each token of its context. */
const TOKEN_MS = 0.12;
const CONTEXT_TOKEN_MS = 2e-5;

interface Draw extends DrawnConversations {
  readonly servers: number;
  readonly kind: (typeof KINDS)[number];
  readonly kvTokens: number;
  /** Half of the servers are A100. */
  readonly mixed: boolean;
  /** The share of the pool's time in use if the share `hits` of prompts is cached. */
  readonly load: number;
  readonly hits: number;
}

const DRAWN: DrawnFamily<Draw> = {
  prefix: 'drawn',
  stream: 'drawn scenario',
  requests: REQUESTS,
  draw: drawFrom,
  everyMs,
  pool: poolOf,
  about: aboutOf,
};

/**
 * A random scenario: pool, prompts, sharing and load are drawn by its number from the range found
 * in practice, from idle to overload. It shows how a policy does on scenarios that were not chosen
 * for it.
 */
export function drawnScenario(name: string): Scenario | undefined {
  return scenarioOf(DRAWN, name);
}

function drawFrom({ between, ratio }: Draws, random: Random): Draw {
  return {
    servers: Math.round(ratio(3, 24)),
    kind: KINDS[Math.floor(random.next() * KINDS.length)] ?? KINDS[0],
    kvTokens: Math.round(ratio(150_000, 1_500_000)),
    mixed: random.next() < 0.2,
    heads: { count: Math.round(ratio(1, 500)), skew: between(0, 1.2), tokens: ratio(100, 12_000) },
    turnsMax: Math.round(ratio(1, 16)),
    question: { median: ratio(40, 3000), spread: between(0.5, 1.2) },
    answer: { median: ratio(15, 500), spread: between(0.4, 1) },
    thinkMs: ratio(500, 30_000),
    burst: random.next() < 0.5 ? 1 : ratio(1, 6),
    load: between(0.25, 0.9),
    hits: between(0.3, 0.9),
  };
}

/** The mean time between two sessions that gives the drawn load. */
function everyMs(draw: Draw): number {
  const [question, answer, turns] = [meanOf(draw.question), meanOf(draw.answer), meanTurns(draw)];
  const promptTokens = draw.heads.tokens + ((question + answer) * turns) / 2;
  const uncachedTokens = question + (1 - draw.hits) * promptTokens;
  const answerMs = answer * (TOKEN_MS + CONTEXT_TOKEN_MS * promptTokens);
  const workMs = turns * (draw.kind.prefillMs * uncachedTokens + answerMs);
  return workMs / (draw.load * draw.servers);
}

function poolOf({ kind, kvTokens, servers, mixed }: Draw): PoolSpec {
  const server = kind.name === 'study' ? studyServer(kvTokens) : presetServer(kind.name);
  if (!mixed) return uniformPool(servers, server);
  const half = Math.floor(servers / 2);
  return mixedPool([
    [servers - half, server],
    [half, presetServer('llama-3.1-8b-a100')],
  ]);
}

function aboutOf({ servers, kind, mixed, heads, turnsMax, question, answer, burst }: Draw): string {
  const whole = (value: number): string => value.toFixed(0);
  return (
    `${servers} ${kind.name}${mixed ? ' and a100' : ''}, ${heads.count} heads of ${whole(heads.tokens)} tokens, ` +
    `up to ${turnsMax} turns of ${whole(question.median)} and ${whole(answer.median)}, bursts ×${burst.toFixed(1)}`
  );
}
