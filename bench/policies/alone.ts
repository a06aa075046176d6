import type { ServerSpec } from '../../src/lab/simulate/pool-spec.ts';
import { chainBlockIds } from '../../src/openai/prompts/chain-block-ids.ts';
import { EndpointBlocks } from '../../src/picker/prefix-index/endpoint-blocks.ts';
import { PrefixIndex } from '../../src/picker/prefix-index/prefix-index.ts';
import { type LatencyModel, latencyModel } from '../../stub-server/engine/latency-model.ts';
import type { ScenarioRun } from '../scenarios/scenario.ts';

/** The simulated network, to the server and back. */
const NETWORK_MS = 0.5;

/** A server that does nothing else. */
interface Alone {
  readonly latency: LatencyModel;
  readonly spec: ServerSpec;
}

/**
 * The mean time to a first token if every request were alone on the fastest server, and the memory
 * of all servers were one cache that drops the least recently used blocks. Only for the stub's
 * engines, without jitter. It says how much room a policy can have: none gets there, because steps
 * under way, answers and other prompts take time, too.
 */
export function aloneTtftMs({ workload, pool }: Pick<ScenarioRun, 'workload' | 'pool'>): number {
  const { requests, blockTokens } = workload;
  const memoryTokens = pool.servers.reduce((sum, { kvTokens }) => sum + kvTokens, 0);
  const cache = new EndpointBlocks(new PrefixIndex(), memoryTokens / blockTokens);
  const servers = pool.servers.map((spec) => ({ spec, latency: latencyModel(spec.latency) }));
  let sumMs = 0;
  for (const { blockIds, model, promptTokens } of requests) {
    const prompt = chainBlockIds(blockIds, { seedText: model, blockTokens });
    // The last token is always computed, because its output is the answer's first token.
    const findable = Math.floor((promptTokens - 1) / blockTokens);
    const cachedTokens = blockTokens * Math.min(cache.matchedBlocks(prompt), findable);
    cache.touch(prompt);
    sumMs += Math.min(...servers.map((server) => prefillMs(server, promptTokens, cachedTokens)));
  }
  return sumMs / requests.length;
}

function prefillMs({ spec, latency }: Alone, promptTokens: number, cachedTokens: number): number {
  let sumMs = NETWORK_MS + spec.admissionMs;
  for (let done = cachedTokens; done < promptTokens; ) {
    const prefillTokens = Math.min(promptTokens - done, spec.batchedTokensMax);
    const attendedSquares = (done + prefillTokens) ** 2 - done ** 2;
    const nothing = { decodeSequences: 0, contextTokens: 0 };
    sumMs += latency({ prefillTokens, prefillSequences: 1, attendedSquares, ...nothing });
    done += prefillTokens;
  }
  return sumMs;
}
