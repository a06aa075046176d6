import { uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { readTrace } from '../../src/lab/traces/reading/read-trace.ts';
import { inMemory, jittered, speedUp, type Workload } from '../../src/lab/traces/workload.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { studyServer } from './pools.ts';
import type { Scenario, ScenarioSize } from './scenario.ts';

const strict = { lenient: false };
/** Requests of a small run. */
const SMALL = 1000;
/** Each seed moves arrivals by up to this, at the trace's own speed. */
const SPREAD_MS = 10_000;

/** A recorded hour at `speed` on the study's engines; each seed jitters the arrivals anew. */
function replay(
  name: string,
  about: string,
  options: {
    readonly load: () => Workload;
    readonly servers: number;
    readonly kvTokens: number;
    readonly speed: number;
  },
): Scenario {
  const { load, servers, kvTokens, speed } = options;
  let loaded: Workload | undefined;
  return {
    name,
    about,
    build(seed: number, size: ScenarioSize) {
      loaded ??= load();
      const { blockTokens, requests } = loaded;
      const part = size === 'small' ? requests.slice(0, SMALL) : requests;
      const shifted = jittered({ blockTokens, requests: part }, seededRandom(seed), SPREAD_MS);
      return {
        workload: inMemory(speedUp(shifted, speed)),
        pool: uniformPool(servers, studyServer(kvTokens)),
      };
    },
  };
}

/** The recorded traces, from a folder: the repository contains only a slice of one. */
export function traceScenarios(folder: string): readonly Scenario[] {
  const mooncake = (): Workload => readTrace(`${folder}/mooncake-conversation.jsonl`, strict);
  const azure = (): Workload => readTrace(`${folder}/azure-2023-conversation.csv`, strict);
  const load = { load: mooncake };
  return [
    replay('mooncake-8x2', 'Mooncake conversation ×2, 8 servers', {
      ...load,
      servers: 8,
      kvTokens: 1_000_000,
      speed: 2,
    }),
    replay('mooncake-8x3', 'Mooncake conversation ×3, 8 servers', {
      ...load,
      servers: 8,
      kvTokens: 1_000_000,
      speed: 3,
    }),
    replay('mooncake-16x8', 'Mooncake conversation ×8, 16 servers with 400 k tokens of KV', {
      ...load,
      servers: 16,
      kvTokens: 400_000,
      speed: 8,
    }),
    replay('azure-8x8', 'Azure 2023 conversation ×8, 8 servers', {
      load: azure,
      servers: 8,
      kvTokens: 400_000,
      speed: 8,
    }),
  ];
}
