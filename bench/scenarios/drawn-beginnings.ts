import type { Random } from '../../src/framework/runtime.ts';
import { uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { KINDS, type ServerKind } from './drawn-conditions.ts';
import { type DrawnFamily, scenarioOf } from './drawn-family.ts';
import { type DrawnConversations, type Draws, meanOf, meanTurns } from './drawn-workload.ts';
import { presetServer } from './pools.ts';
import type { Scenario } from './scenario.ts';

/** What a copy of a beginning would cost must be a small part of the run. */
const RUN_MS_MIN = 60_000;

interface Draw extends DrawnConversations {
  readonly servers: number;
  readonly kind: ServerKind;
  /** The share of their time that the servers compute, were each beginning held by all. */
  readonly load: number;
}

const FAMILY: DrawnFamily<Draw> = {
  prefix: 'begin-alike',
  requests: { small: 800, full: 4000 },
  draw: drawFrom,
  everyMs,
  pool: ({ servers, kind }) => uniformPool(servers, presetServer(kind.name)),
  about: ({ servers, kind, heads }) =>
    `${servers} ${kind.name}, ${heads.count} beginnings of about ${heads.tokens} tokens`,
};

/** A random scenario whose prompts begin with long texts that many have. */
export function drawnBeginnings(name: string): Scenario | undefined {
  return scenarioOf(FAMILY, name);
}

function drawFrom({ between, ratio }: Draws, random: Random): Draw {
  return {
    servers: Math.round(ratio(2, 16)),
    kind: KINDS[Math.floor(random.next() * KINDS.length)] ?? KINDS[0],
    heads: {
      count: Math.round(ratio(1, 100)),
      skew: between(0.4, 1.4),
      tokens: Math.round(ratio(500, 40_000)),
    },
    turnsMax: Math.round(ratio(1, 3)),
    question: { median: ratio(50, 1500), spread: between(0.5, 1) },
    answer: { median: ratio(40, 300), spread: between(0.4, 0.9) },
    thinkMs: ratio(1000, 20_000),
    burst: random.next() < 0.5 ? 1 : ratio(1.5, 4),
    load: between(0.15, 0.7),
  };
}

/** The mean time between two sessions that gives the drawn load. */
function everyMs(draw: Draw, requests: number): number {
  const { kind, servers, load } = draw;
  const [question, answer, turns] = [meanOf(draw.question), meanOf(draw.answer), meanTurns(draw)];
  const ownMs = turns * (kind.promptMs * question + (kind.answerMs * answer) / 20);
  return Math.max(ownMs / (load * servers), (RUN_MS_MIN * turns) / requests);
}
