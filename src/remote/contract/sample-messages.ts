import type { EndpointMessage, RequestMessage } from '../messages.ts';

/** An endpoint that has been scraped and is idle, changed by `fields`. */
export function sampleEndpoint(
  slot: number,
  fields: Partial<EndpointMessage> = {},
): EndpointMessage {
  return {
    slot,
    id: `endpoint-${slot}`,
    address: `10.0.0.${slot % 250}:8000`,
    labels: {},
    sampled: true,
    waitingRequests: 0,
    runningRequests: 0,
    kvCacheUsage: 0,
    sampleAgeMs: 50,
    cacheBlocks: 10_000,
    cacheBlockTokens: 64,
    loraMax: 0,
    loraRunning: [],
    loraWaiting: [],
    ...fields,
  };
}

/** So many different endpoints, numbered from `first`. */
export function sampleEndpoints(count: number, first: number = 0): readonly EndpointMessage[] {
  return Array.from({ length: count }, (_, index) => sampleEndpoint(first + index));
}

/** A request of 640 tokens in 10 blocks, changed by `fields`. */
export function sampleRequest(id: string, fields: Partial<RequestMessage> = {}): RequestMessage {
  return {
    id,
    model: 'a-model',
    promptTokens: 640,
    outputTokensMax: 128,
    streaming: true,
    priority: 0,
    fairnessId: 'tenant',
    objective: '',
    ttftSloMs: 0,
    tpotSloMs: 0,
    blockTokens: 64,
    blockHashes: sampleHashes(10),
    headers: {},
    candidates: [],
    ...fields,
  };
}

/** `count` different block hashes of eight bytes each. */
export function sampleHashes(count: number): Uint8Array {
  const words = new BigUint64Array(count).map((_, index) => BigInt(index + 1) * 0x9e3779b97f4a7n);
  return new Uint8Array(words.buffer);
}
