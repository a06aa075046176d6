import type { Decoder } from '@msgpack/msgpack';
import { messageOf } from '../../../framework/error.ts';
import { loadMsgpack } from '../../../runtime/modules/load-packages.ts';
import type { CacheEvent, HashWords } from './cache-event.ts';
import { checkStructure, DroppedBatch } from './check-structure.ts';

const TIER_DEFAULT = 'gpu';

/** `checkStructure` has bounded lists before. */
const BOUNDS = {
  useBigInt64: true,
  maxMapLength: 65_536,
  maxBinLength: 65_536,
  maxStrLength: 65_536,
  maxExtLength: 65_536,
};
/** Made once, as each decoder allocates tables. */
let decoder: Decoder | undefined;

/** The fields of each event type in order, for engines that send arrays. */
const FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'BlockStored',
    [
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
  ],
  ['BlockRemoved', ['block_hashes', 'medium', 'group_idx']],
  ['AllBlocksCleared', []],
]);

/**
 * The events of a batch in any layout of vLLM or SGLang, in order, each read when it is asked for;
 * undefined for one of an unknown type. Throws DroppedBatch, which says what is wrong, at the first
 * one that cannot be read.
 */
export function* decodeEvents(
  payload: Uint8Array,
  elementsMax: number,
): Generator<CacheEvent | undefined, void> {
  checkStructure(payload, elementsMax);
  try {
    for (const each of rawEvents(payload)) yield eventOf(each);
  } catch (error) {
    throw error instanceof DroppedBatch ? error : new DroppedBatch('not-a-batch', messageOf(error));
  }
}

function rawEvents(payload: Uint8Array): readonly unknown[] {
  decoder ??= new (loadMsgpack().Decoder)(BOUNDS);
  const batch = decoder.decode(payload);
  const raw: unknown = Array.isArray(batch) ? batch[1] : record(batch, 'the batch')['events'];
  return listOf(raw, 'the events of the batch');
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
        groupKind: groupKindOf(fields),
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
  FIELDS.get(type)?.forEach((name, index) => {
    fields[name] = raw[index + 1];
  });
  return { type, fields };
}

function stored(fields: Readonly<Record<string, unknown>>): CacheEvent {
  const ids = tokenIds(fields['token_ids']);
  const lora = adapterOf(fields);
  const parent = parentOf(fields['parent_block_hash']);
  return {
    kind: 'stored',
    hashes: hashWords(listOf(fields['block_hashes'], 'block_hashes')),
    parent,
    tokenIds: ids,
    blockTokens: blockTokensOf(fields['block_size'], ids.length),
    tier: tierOf(fields['medium']),
    lora,
    extras: withSalt(extrasOf(fields['extra_keys'], lora), parent === undefined, saltOf(fields)),
    group: optionalNumber(fields['group_idx']),
    groupKind: groupKindOf(fields),
  };
}

/** vLLM's offloading names blocks without tokens, and their size is 0 then. */
function blockTokensOf(raw: unknown, tokens: number): number {
  if (tokens === 0 && (raw === 0 || raw === null || raw === undefined)) return 0;
  if (typeof raw === 'number' && Number.isInteger(raw) && raw >= 1) return raw;
  throw new Error(`block_size is ${describe(raw)}, not a whole number of at least 1`);
}

function parentOf(raw: unknown): HashWords | undefined {
  if (raw === null || raw === undefined || raw === '') return undefined;
  return raw instanceof Uint8Array && raw.length === 0 ? undefined : hashWords([raw]);
}

/** Without a name its number keeps the blocks of an adapter apart from those of the model. */
function adapterOf({
  lora_name: name,
  lora_id: id,
}: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof name === 'string' && name !== '') return name;
  const isNumber = typeof id === 'number' || typeof id === 'bigint';
  return isNumber && Number(id) !== 0 ? `lora_id ${id}` : undefined;
}

/** SGLang has the salt in a field of its own, or in its metadata; vLLM in the extra keys. */
function saltOf({ cache_salt: salt, metadata }: Readonly<Record<string, unknown>>): string {
  if (typeof salt === 'string') return salt;
  const nested: unknown = isRecord(metadata) ? metadata['cache_salt'] : undefined;
  return typeof nested === 'string' ? nested : '';
}

/** The salt is in the key of a prompt's first block, and with that in the keys of all others. */
function withSalt(extras: readonly string[], first: boolean, salt: string): readonly string[] {
  if (salt === '' || !first || (extras[0] ?? '') !== '') return extras;
  return [extraText([salt], undefined), ...extras.slice(1)];
}

/** SGLang's name for the component that holds the whole prefix. */
const SGLANG_WHOLE = 'full';

function groupKindOf({
  kv_cache_spec_kind: kind,
  component_type: component,
}: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof kind === 'string' && kind !== '') return kind;
  if (typeof component !== 'string' || component === '') return undefined;
  return component.toLowerCase() === SGLANG_WHOLE ? 'full_attention' : component.toLowerCase();
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

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array);
}

function record(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value;
  throw new Error(`${what} is ${describe(value)}, not an array or a map`);
}

function describe(value: unknown): string {
  return value instanceof Uint8Array ? 'bytes' : `${value === null ? 'nil' : typeof value}`;
}
