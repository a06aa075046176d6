import type { Random } from '../../src/framework/runtime.ts';
import { uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { LORA_DEFAULTS } from '../../stub-server/engine/lora-slots.ts';
import { zipf } from './arrivals.ts';
import { KINDS, type ServerKind } from './drawn-conditions.ts';
import { type DrawnFamily, scenarioOf } from './drawn-family.ts';
import { type DrawnConversations, type Draws, meanOf, meanTurns } from './drawn-workload.ts';
import { presetServer } from './pools.ts';
import type { Scenario } from './scenario.ts';

const PROMPT_LOAD_MAX = 0.7;

interface Draw extends DrawnConversations {
  readonly servers: number;
  readonly kind: ServerKind;
  /** Adapters that one batch has room for. */
  readonly slots: number;
  readonly adapters: { readonly count: number; readonly skew: number };
  /** The share of the slots that requests would take for their time, were each alone in one. */
  readonly load: number;
}

const FAMILY: DrawnFamily<Draw> = {
  prefix: 'adapters-short',
  requests: { small: 800, full: 4000 },
  draw: drawFrom,
  everyMs,
  pool({ servers, kind, slots }) {
    const loras = { ...LORA_DEFAULTS, slots, hostSlots: 4 * slots };
    return uniformPool(servers, { ...presetServer(kind.name), loras });
  },
  about: ({ servers, kind, slots, adapters }) =>
    `${servers} ${kind.name} with ${slots} slots for ${adapters.count} adapters`,
};

/** A random scenario in which slots for adapters are short before the time for prompts is. */
export function drawnAdapters(name: string): Scenario | undefined {
  return scenarioOf(FAMILY, name);
}

function drawFrom({ between, ratio }: Draws, random: Random): Draw {
  const servers = Math.round(ratio(3, 12));
  const slots = Math.round(ratio(2, 8));
  const kind = KINDS[Math.floor(random.next() * KINDS.length)] ?? KINDS[0];
  const adapters = { count: Math.round(servers * slots * ratio(1.2, 12)), skew: between(0, 1.2) };
  return {
    servers,
    kind,
    slots,
    adapters,
    model: (_session, own) => `adapter-${zipf(own, adapters.count, adapters.skew)}`,
    heads: { count: Math.round(ratio(1, 200)), skew: between(0, 1.2), tokens: ratio(100, 2000) },
    turnsMax: Math.round(ratio(1, 6)),
    question: { median: ratio(100, 1000), spread: between(0.5, 1) },
    answer: { median: ratio(50, 400), spread: between(0.4, 0.9) },
    thinkMs: ratio(1000, 20_000),
    burst: random.next() < 0.5 ? 1 : ratio(1.5, 4),
    load: between(0.7, 1.6),
  };
}

/** The mean time between two sessions that gives the drawn load. */
function everyMs(draw: Draw): number {
  const { kind, servers, slots, load, heads } = draw;
  const [question, answer, turns] = [meanOf(draw.question), meanOf(draw.answer), meanTurns(draw)];
  const answersMs = (turns * answer * kind.answerMs) / (servers * slots * load);
  const ownTokens = ((question + answer) * (turns + 1)) / 2;
  const promptsMs = kind.promptMs * turns * (question + 0.3 * (ownTokens + heads.tokens));
  return Math.max(answersMs, promptsMs / (PROMPT_LOAD_MAX * servers));
}
