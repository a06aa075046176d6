import type { PromptBlocks } from '../../src/framework/request.ts';

/**
 * One number for the beginning of a prompt, at most `tokensMax` of it: equal for prompts that begin alike. Undefined for
 * a prompt of less than a block.
 */
export function prefixKey(
  { count, blockTokens, words }: PromptBlocks,
  tokensMax: number,
): number | undefined {
  const blocks = Math.min(count, Math.max(1, Math.floor(tokensMax / blockTokens)));
  if (blocks === 0) return undefined;
  return ((words[2 * (blocks - 1)] as number) ^ (words[2 * blocks - 1] as number)) >>> 0;
}

/** 32 bits of a key and a name together, well mixed: rendezvous weights, places on a ring. */
export function keyedHash(key: number, name: string): number {
  let hash = Math.imul(key ^ 0x9e3779b9, 0x85ebca6b);
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
