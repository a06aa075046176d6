import { readFileSync } from 'node:fs';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { uniformPool } from '../../src/simulate/pool-spec.ts';
import { jittered, speedUp, type Workload } from '../../src/simulate/workload.ts';
import { studyServer } from './pools.ts';
import type { Scenario, ScenarioSize } from './scenario.ts';

const MOONCAKE_BLOCK_TOKENS = 512;
/** Requests of a small run. */
const SMALL = 1000;
/** Another run of the same hour: arrivals move by up to this, at the trace's own speed. */
const SPREAD_MS = 10_000;

/** Replays a recorded hour at `speed` on the study's engines, each seed another jitter of its arrivals. */
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
        workload: speedUp(shifted, speed),
        pool: uniformPool(servers, studyServer(kvTokens)),
      };
    },
  };
}

/** The recorded traces, from a folder that has them: the repository carries only a slice of one. */
export function traceScenarios(folder: string): readonly Scenario[] {
  const mooncake = (): Workload => readMooncake(`${folder}/mooncake-conversation.jsonl`);
  const azure = (): Workload => readAzure(`${folder}/azure-2023-conversation.csv`);
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

function readMooncake(path: string): Workload {
  const requests = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const row = JSON.parse(line) as {
        readonly timestamp: number;
        readonly input_length: number;
        readonly output_length: number;
        readonly hash_ids: readonly number[];
      };
      return {
        atMs: row.timestamp,
        model: 'model',
        promptTokens: row.input_length,
        outputTokens: Math.max(1, row.output_length),
        blockIds: row.hash_ids.slice(0, Math.floor(row.input_length / MOONCAKE_BLOCK_TOKENS)),
      };
    });
  return { blockTokens: MOONCAKE_BLOCK_TOKENS, requests };
}

function readAzure(path: string): Workload {
  const [, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n');
  const rows = lines.map((line) => line.trim().split(','));
  const startMs = Date.parse(`${rows[0]?.[0]?.replace(' ', 'T') ?? ''}Z`);
  const requests = rows.map(([time = '', context, generated]) => ({
    atMs: Date.parse(`${time.replace(' ', 'T').slice(0, 23)}Z`) - startMs,
    model: 'model',
    promptTokens: Math.max(1, Number(context)),
    outputTokens: Math.max(1, Number(generated)),
    blockIds: [],
  }));
  return { blockTokens: 64, requests };
}
