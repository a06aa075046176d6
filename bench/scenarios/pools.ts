import { type PoolSpec, type ServerSpec, uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { PRESETS } from '../../stub-server/presets/presets.ts';

type Server = Omit<ServerSpec, 'id'>;

/** The engine of the policy study, by default with 1 M tokens of KV memory. */
export function studyServer(kvTokens = 1_000_000): Server {
  return {
    labels: {},
    latency: PRESETS.study.latency,
    kvTokens,
    sequencesMax: 256,
    batchedTokensMax: 8192,
    admissionMs: 0,
    jitter: 0,
  };
}

/** A preset with the jitter that published engines show. */
export function presetServer(name: keyof typeof PRESETS): Server {
  const { latency, kvBlocks, sequencesMax, batchedTokensMax, admissionMs } = PRESETS[name];
  return {
    labels: {},
    latency,
    kvTokens: 16 * kvBlocks,
    sequencesMax,
    batchedTokensMax,
    admissionMs,
    jitter: 0.05,
  };
}

export function mixedPool(groups: readonly (readonly [number, Server])[]): PoolSpec {
  const servers = groups.flatMap(([count, server]) => uniformPool(count, server).servers);
  return { servers: servers.map((server, index) => ({ ...server, id: `s${index}` })), faults: [] };
}
