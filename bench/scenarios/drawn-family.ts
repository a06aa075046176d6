import type { Millis, Random } from '../../src/framework/runtime.ts';
import type { PoolSpec } from '../../src/lab/simulate/pool-spec.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type DrawnConversations, type Draws, drawnWorkload, drawsOf } from './drawn-workload.ts';
import type { Scenario, ScenarioSize } from './scenario.ts';

/** Random scenarios of one kind: everything about one is drawn by the number in its name. */
export interface DrawnFamily<Draw extends DrawnConversations> {
  /** Scenarios have the name `prefix-1` and so on. */
  readonly prefix: string;
  /** Names the stream of random numbers; `prefix` if left out. Another one draws others. */
  readonly stream?: string;
  readonly requests: Readonly<Record<ScenarioSize, number>>;
  readonly draw: (draws: Draws, random: Random) => Draw;
  /** The mean time between two sessions that gives the drawn load. */
  readonly everyMs: (draw: Draw, requests: number) => Millis;
  readonly pool: (draw: Draw) => PoolSpec;
  readonly about: (draw: Draw) => string;
  readonly disaggregated?: Scenario['disaggregated'];
}

/** The scenario of this name; undefined where the family has none of it. */
export function scenarioOf<Draw extends DrawnConversations>(
  family: DrawnFamily<Draw>,
  name: string,
): Scenario | undefined {
  const { prefix, stream = prefix, requests, disaggregated } = family;
  const number = name.startsWith(`${prefix}-`) ? name.slice(prefix.length + 1) : '';
  if (!/^\d+$/.test(number)) return undefined;
  const random = seededRandom(Number(number)).fork(stream);
  const draw = family.draw(drawsOf(random), random);
  return {
    name,
    about: family.about(draw),
    isDrawn: true,
    ...(disaggregated && { disaggregated }),
    build(seed, size) {
      const rate = { requests: requests[size], everyMs: family.everyMs(draw, requests[size]) };
      const workload = drawnWorkload(draw, rate, seededRandom(seed).fork(name));
      return { workload, pool: family.pool(draw) };
    },
  };
}
