import type { ServerSpec } from '../../src/lab/simulate/pool-spec.ts';
import { inMemory, speedUp, type Workload } from '../../src/lab/traces/workload.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import type { EngineRules } from '../other-engine/other-engine.ts';
import { OtherServer } from '../other-engine/other-server.ts';
import { drawnScenario } from './drawn.ts';
import type { Scenario } from './scenario.ts';

const NAME = /^other-(\d+)$/;
/** Workloads and pools are those of drawn scenarios with numbers from here on. */
const FIRST_DRAWN = 1000;
const LOAD_MIN = 0.25;
const LOAD_MAX = 0.7;

type Timing = Omit<EngineRules, 'kvTokens'>;

/** By number in turn: none of them is like the engine that the cost model assumes. */
const ENGINES: readonly (Timing & { readonly about: string })[] = [
  {
    about: 'whole prompts first, answers stand still meanwhile',
    steps: 'prefill-first',
    stepTokens: 16_384,
    sequencesMax: 256,
    baseMs: 9,
    perPromptTokenMs: 0.05,
    perPairMs: 1.5e-6,
    perAnswerMs: 0.03,
    perContextTokenMs: 4e-5,
  },
  {
    about: 'steps of 2,048 tokens',
    steps: 'mixed',
    stepTokens: 2048,
    sequencesMax: 128,
    baseMs: 14,
    perPromptTokenMs: 0.07,
    perPairMs: 1e-6,
    perAnswerMs: 0.08,
    perContextTokenMs: 3e-5,
  },
  {
    about: 'steps of 16,384 tokens',
    steps: 'mixed',
    stepTokens: 16_384,
    sequencesMax: 1024,
    baseMs: 5,
    perPromptTokenMs: 0.015,
    perPairMs: 4e-7,
    perAnswerMs: 0.02,
    perContextTokenMs: 8e-6,
  },
];

/** A drawn scenario on an engine by other rules than those of the stub, at a load drawn anew. */
export function otherScenario(name: string): Scenario | undefined {
  const number = Number(NAME.exec(name)?.[1] ?? Number.NaN);
  const drawn = drawnScenario(`drawn-${FIRST_DRAWN + number}`);
  const engine = ENGINES[number % ENGINES.length];
  if (drawn === undefined || engine === undefined) return undefined;
  const random = seededRandom(number).fork('load of other engines');
  const load = LOAD_MIN + (LOAD_MAX - LOAD_MIN) * random.next();
  const { about, ...timing } = engine;
  return {
    name,
    about: `${drawn.about}; ${about}`,
    isOtherEngine: true,
    build(seed, size) {
      const { workload, pool } = drawn.build(seed, size);
      const factor = load / loadOf(workload, { servers: pool.servers.length, timing });
      return {
        workload: inMemory(speedUp(workload, factor)),
        pool,
        createServer: (spec: ServerSpec, parts) =>
          new OtherServer(spec, parts, { ...timing, kvTokens: spec.kvTokens }),
      };
    },
  };
}

/** The share of the pool's time that the workload takes where every block is computed once. */
function loadOf(
  { requests, blockTokens }: Workload,
  { servers, timing }: { readonly servers: number; readonly timing: Timing },
): number {
  const seen = new Set<number | string>();
  let workMs = 0;
  for (const { blockIds, promptTokens, outputTokens } of requests) {
    const held = blockIds.filter((id) => seen.has(id)).length;
    for (const id of blockIds) seen.add(id);
    workMs += timing.perPromptTokenMs * (promptTokens - held * blockTokens);
    workMs += outputTokens * (timing.perAnswerMs + timing.perContextTokenMs * promptTokens);
  }
  const lastMs = requests.at(-1)?.atMs ?? 0;
  return workMs / (servers * Math.max(1, lastMs));
}
