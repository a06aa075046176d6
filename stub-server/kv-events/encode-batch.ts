import { encode } from '@msgpack/msgpack';
import type { KvEvent, KvEventFormat } from './kv-event.ts';

interface KvEventBatch {
  /** Seconds since the epoch. */
  readonly timestampS: number;
  readonly events: readonly KvEvent[];
  readonly dataParallelRank: number;
}

/** Encodes a batch as vLLM does. The array layouts have the values of the map layouts in order. */
export function encodeBatch(batch: KvEventBatch, format: KvEventFormat): Uint8Array {
  const { timestampS, dataParallelRank } = batch;
  const events = batch.events.map((event): object =>
    format === 'array' ? Object.values(asMap(event)) : asMap(event),
  );
  return format === 'map-batch'
    ? encode({ ts: timestampS, events, data_parallel_rank: dataParallelRank })
    : encode([timestampS, events, dataParallelRank]);
}

/** The keys are in vLLM's order. */
function asMap(event: KvEvent): Readonly<Record<string, unknown>> {
  switch (event.type) {
    case 'BlockStored':
      return {
        type: event.type,
        block_hashes: event.blockHashes,
        parent_block_hash: event.parentBlockHash,
        token_ids: event.tokenIds,
        block_size: event.blockSize,
        lora_id: null,
        medium: event.medium,
        lora_name: event.loraName,
      };
    case 'BlockRemoved':
      return { type: event.type, block_hashes: event.blockHashes, medium: event.medium };
    case 'AllBlocksCleared':
      return { type: event.type };
  }
}
