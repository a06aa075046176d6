import type { PoolSpec } from '../../src/lab/simulate/pool-spec.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type Draws, drawsOf } from '../scenarios/drawn-workload.ts';
import type { Scenario, ScenarioRun, ScenarioSize } from '../scenarios/scenario.ts';
import { type Stream, trafficFor } from './traffic.ts';

/** A kind of traffic on a kind of pool that people have. Each seed draws another case of it. */
export interface Situation {
  readonly name: string;
  /** One line for a table. */
  readonly about: string;
  /** 3,000 if left out. */
  readonly requests?: number;
  /** Between these two, the share of the pool's time that the traffic takes; 0.45 to 0.85 if left out. */
  readonly load?: readonly [low: number, high: number];
  readonly streams: (draws: Draws) => readonly Stream[];
  readonly pool: (draws: Draws) => PoolSpec;
  /** What is otherwise in the simulation. */
  readonly run?: Partial<ScenarioRun>;
}

const REQUESTS = 3000;
const SMALL_SHARE = 0.1;
const LOAD = [0.45, 0.85] as const;

export function scenarioOfSituation(situation: Situation): Scenario {
  const { name, about, requests = REQUESTS, load = LOAD, streams, pool, run } = situation;
  return {
    name,
    about,
    isDrawn: true,
    build(seed: number, size: ScenarioSize): ScenarioRun {
      const random = seededRandom(seed).fork(`situation ${name}`);
      const draws = drawsOf(random);
      const spec = pool(draws);
      const traffic = streams(draws);
      const workload = trafficFor(traffic, spec, {
        requests: Math.round(requests * (size === 'small' ? SMALL_SHARE : 1)),
        load: draws.between(...load),
        random,
      });
      return { workload, pool: withFaultTimes(spec, workload.requests.at(-1)?.atMs ?? 0), ...run };
    },
  };
}

/** Times of faults are given as shares of the run. */
function withFaultTimes({ servers, faults }: PoolSpec, lengthMs: number): PoolSpec {
  const timed = faults.map((fault) => ({
    ...fault,
    atMs: fault.atMs * lengthMs,
    forMs: fault.forMs * lengthMs,
  }));
  return { servers, faults: timed };
}
