import { KeyedHash } from '../../framework/values/keyed-hash.ts';
import type { TraceRequest } from './trace.ts';

/** Ids come from traces, not from clients: the key need not be secret. */
const hash = new KeyedHash(0);
/** The beginning before a block as two words, and the block's id as two. */
const words = new Int32Array(4);
/** Bits of the high word that a number holds beside 32 of the low one. */
const HIGH_BITS = 0x1f_ffff;
const LOW_WORDS = 0x1_0000_0000;

/**
 * For each block, a number of 53 bits that stands for the prompt up to its end: equal ones mean the
 * same model and the same text. Nothing has to be kept for that, as `PrefixNumbers` keeps all.
 */
export function prefixKeys({
  model,
  blockIds,
}: Pick<TraceRequest, 'model' | 'blockIds'>): Float64Array {
  hash.text(model);
  let { low, high } = hash;
  const keys = new Float64Array(blockIds.length);
  blockIds.forEach((id, index) => {
    [words[2], words[3]] = wordsOf(id);
    words[0] = low;
    words[1] = high;
    hash.words(words, words.length);
    ({ low, high } = hash);
    keys[index] = (low >>> 0) + (high & HIGH_BITS) * LOW_WORDS;
  });
  return keys;
}

function wordsOf(id: number | string): readonly [low: number, high: number] {
  if (typeof id === 'number' && Number.isSafeInteger(id)) {
    return [id | 0, Math.floor(id / LOW_WORDS) | 0];
  }
  hash.text(String(id));
  return [hash.low, hash.high];
}
