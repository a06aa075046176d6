import { encode } from '@msgpack/msgpack';
import type { KvEvent, KvEventFormat } from './kv-event.ts';

export interface KvEventBatch {
  /** Seconds since the epoch. */
  readonly timestampS: number;
  readonly events: readonly KvEvent[];
  readonly dataParallelRank: number;
}

/** Where the blocks are. */
const MEDIUM = 'GPU';

/** A batch as vLLM puts it on the wire. */
export function encodeBatch(batch: KvEventBatch, format: KvEventFormat): Uint8Array {
  const { timestampS, events, dataParallelRank } = batch;

  const told = events.map((event): unknown => (format === 'array' ? asArray(event) : asMap(event)));
  return format === 'map-batch'
    ? encode({ ts: timestampS, events: told, data_parallel_rank: dataParallelRank })
    : encode([timestampS, told, dataParallelRank]);
}

function asArray(event: KvEvent): readonly unknown[] {
  switch (event.type) {
    case 'BlockStored':
      return [
        event.type,
        event.blockHashes,
        event.parentBlockHash,
        event.tokenIds,
        event.blockSize,
        null,
        MEDIUM,
        event.loraName,
      ];
    case 'BlockRemoved':
      return [event.type, event.blockHashes, MEDIUM];
    case 'AllBlocksCleared':
      return [event.type];
  }
}

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
        medium: MEDIUM,
        lora_name: event.loraName,
      };
    case 'BlockRemoved':
      return { type: event.type, block_hashes: event.blockHashes, medium: MEDIUM };
    case 'AllBlocksCleared':
      return { type: event.type };
  }
}
