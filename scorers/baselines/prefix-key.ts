import type { PromptBlocks } from '../../src/framework/request.ts';

/** A number for a prompt's first `tokensMax` tokens; undefined where that is less than a block. */
export function prefixKey(
  { count, blockTokens, words }: PromptBlocks,
  tokensMax: number,
): number | undefined {
  const blocks = Math.min(count, Math.max(1, Math.floor(tokensMax / blockTokens)));
  if (blocks === 0) return undefined;
  return ((words[2 * (blocks - 1)] as number) ^ (words[2 * blocks - 1] as number)) >>> 0;
}

/** A well mixed 32-bit hash of a key and a name, for rendezvous weights and places on a ring. */
export function keyedHash(key: number, name: string): number {
  let hash = Math.imul(key ^ 0x9e3779b9, 0x85ebca6b);
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
