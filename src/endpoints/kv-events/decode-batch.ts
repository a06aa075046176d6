import { Decoder } from '@msgpack/msgpack';
import { messageOf } from '../../framework/error.ts';
import type { CacheEvent, HashWords } from './cache-event.ts';
import { checkStructure, DroppedBatch } from './check-structure.ts';

interface CacheEventBatch {
  readonly events: readonly CacheEvent[];
  /** The number of events of unknown types, which later engines may add. */
  readonly unknown: number;
}

const TIER_DEFAULT = 'gpu';

/** Made once, as each decoder allocates tables. `checkStructure` has bounded lists before. */
const decoder = new Decoder({
  useBigInt64: true,
  maxMapLength: 65_536,
  maxBinLength: 65_536,
  maxStrLength: 65_536,
  maxExtLength: 65_536,
});

/** The fields of each event type in order, for engines that send arrays. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  BlockStored: [
    'block_hashes',
    'parent_block_hash',
    'token_ids',
    'block_size',
    'lora_id',
    'medium',
    'lora_name',
    'extra_keys',
    'group_idx',
    'kv_cache_spec_kind',
  ],
  BlockRemoved: ['block_hashes', 'medium', 'group_idx'],
  AllBlocksCleared: [],
};

/** Reads a batch in any layout of vLLM or SGLang. Throws DroppedBatch, which says what is wrong. */
export function decodeBatch(payload: Uint8Array, elementsMax: number): CacheEventBatch {
  checkStructure(payload, elementsMax);
  try {
    return readBatch(payload);
  } catch (error) {
    throw new DroppedBatch('not-a-batch', messageOf(error));
  }
}

function readBatch(payload: Uint8Array): CacheEventBatch {
  const batch = decoder.decode(payload);
  const raw: unknown = Array.isArray(batch) ? batch[1] : record(batch, 'the batch')['events'];
  const list = listOf(raw, 'the events of the batch');
  const events: CacheEvent[] = [];
  let unknown = 0;
  for (const each of list) {
    const event = eventOf(each);
    if (event === undefined) unknown += 1;
    else events.push(event);
  }
  return { events, unknown };
}

function eventOf(raw: unknown): CacheEvent | undefined {
  const { type, fields } = namedFields(raw);
  switch (type) {
    case 'BlockStored':
      return stored(fields);
    case 'BlockRemoved':
      return {
        kind: 'removed',
        hashes: hashWords(listOf(fields['block_hashes'], 'block_hashes')),
        tier: tierOf(fields['medium']),
        group: optionalNumber(fields['group_idx']),
      };
    case 'AllBlocksCleared':
      return { kind: 'cleared' };
    default:
      return undefined;
  }
}

function namedFields(raw: unknown): {
  readonly type: string;
  readonly fields: Readonly<Record<string, unknown>>;
} {
  if (!Array.isArray(raw)) {
    const fields = record(raw, 'an event');
    return { type: String(fields['type']), fields };
  }
  const type = String(raw[0]);
  const fields: Record<string, unknown> = {};
  FIELDS[type]?.forEach((name, index) => {
    fields[name] = raw[index + 1];
  });
  return { type, fields };
}

function stored(fields: Readonly<Record<string, unknown>>): CacheEvent {
  const hashes = hashWords(listOf(fields['block_hashes'], 'block_hashes'));
  const parent = fields['parent_block_hash'];
  const blockTokens = fields['block_size'];
  if (typeof blockTokens !== 'number' || !Number.isInteger(blockTokens) || blockTokens < 1) {
    throw new Error(`block_size is ${describe(blockTokens)}, not a whole number of at least 1`);
  }
  const lora = typeof fields['lora_name'] === 'string' ? fields['lora_name'] : undefined;
  const kind = fields['kv_cache_spec_kind'];
  return {
    kind: 'stored',
    hashes,
    parent: parent === null || parent === undefined ? undefined : hashWords([parent]),
    tokenIds: tokenIds(fields['token_ids']),
    blockTokens,
    tier: tierOf(fields['medium']),
    lora,
    extras: extrasOf(fields['extra_keys'], lora),
    group: optionalNumber(fields['group_idx']),
    groupKind: typeof kind === 'string' ? kind : undefined,
  };
}

/** None where they are not plain ids: some speculative engines send pairs, which no prompt has. */
function tokenIds(raw: unknown): readonly number[] {
  const ids = listOf(raw ?? [], 'token_ids');
  return ids.every((id) => typeof id === 'number') ? (ids as readonly number[]) : [];
}

/** Integers of either sign in two's complement; of bytes the last eight, as in the reference. */
function hashWords(hashes: readonly unknown[]): HashWords {
  const words = new Uint32Array(2 * hashes.length);
  hashes.forEach((hash, index) => {
    if (typeof hash === 'number' && Number.isSafeInteger(hash)) {
      words[2 * index] = hash % 0x1_0000_0000;
      words[2 * index + 1] = Math.floor(hash / 0x1_0000_0000);
    } else if (typeof hash === 'bigint') {
      words[2 * index] = Number(BigInt.asUintN(32, hash));
      words[2 * index + 1] = Number(BigInt.asUintN(32, hash >> 32n));
    } else if (hash instanceof Uint8Array) {
      const last = hash.subarray(-8);
      for (let at = 0; at < last.length; at++) {
        const power = last.length - 1 - at;
        const word = 2 * index + (power < 4 ? 0 : 1);
        words[word] = (words[word] as number) + (last[at] as number) * 2 ** (8 * (power % 4));
      }
    } else throw new Error(`a block hash is ${describe(hash)}, not an integer or bytes`);
  });
  return words;
}

function extrasOf(raw: unknown, lora: string | undefined): readonly string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((keys) => (Array.isArray(keys) ? extraText(keys, lora) : ''));
}

/** What is in a block's hash besides tokens and adapter, as one text. */
export function extraText(keys: readonly unknown[], lora: string | undefined): string {
  const others = keys.filter((key) => key !== null && key !== undefined && key !== lora);
  return others.length === 0 ? '' : JSON.stringify(others, plain);
}

function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Uint8Array ? [...value] : value;
}

function tierOf(medium: unknown): string {
  return typeof medium === 'string' && medium !== '' ? medium.toLowerCase() : TIER_DEFAULT;
}

function optionalNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`${what}: expected a list, got ${describe(value)}`);
}

function record(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new Error(`${what} is ${describe(value)}, not an array or a map`);
}

function describe(value: unknown): string {
  return value instanceof Uint8Array ? 'bytes' : `${value === null ? 'nil' : typeof value}`;
}
