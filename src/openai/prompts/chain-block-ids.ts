import type { PromptBlocks } from '../../framework/request.ts';
import { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { Chain } from './chain.ts';

/** Ids come from traces and the library's caller, not from clients: the key need not be secret. */
const hash = new KeyedHash(0);

interface ChainOptions {
  /** The model, for example: equal ids with different seed texts are different blocks. */
  readonly seedText: string;
  readonly blockTokens: number;
}

/** Hashes a prompt given as one id per full block, as in traces: equal ids are equal text. */
export function chainBlockIds(
  ids: readonly (number | bigint | string)[],
  { seedText, blockTokens }: ChainOptions,
): PromptBlocks {
  const words = new Uint32Array(2 * ids.length);
  const chain = new Chain(seedText, hash);
  ids.forEach((id, index) => {
    const [low, high] = toWords(id);
    chain.add(low, high);
    words[2 * index] = chain.low;
    words[2 * index + 1] = chain.high;
  });
  return { count: ids.length, blockTokens, words };
}

/** The id as two 32-bit words. */
function toWords(id: number | bigint | string): readonly [low: number, high: number] {
  if (typeof id === 'number' && Number.isSafeInteger(id)) {
    return [id | 0, Math.floor(id / 0x1_0000_0000) | 0];
  }
  hash.text(String(id));
  return [hash.low, hash.high];
}
