import { chainBlockIds } from '../request/chain-block-ids.ts';
import type { Workload } from '../simulate/workload.ts';

/** A shared system prompt alone is no conversation; so many blocks in common are. */
const COMMON_BLOCKS_MIN = 2;

/**
 * For each request the place of the one it goes on from, the latest whose full blocks are its own first ones, if any:
 * a trace without sessions tells them by its blocks. -1 where there is none.
 */
export function previousTurns({ requests, blockTokens }: Workload): Int32Array {
  const latest = new Map<string, number>();
  return Int32Array.from(requests, ({ blockIds, model }, index) => {
    const { words, count } = chainBlockIds(blockIds, { seedText: model, blockTokens });
    const key = (blocks: number): string => `${words[2 * blocks - 2]} ${words[2 * blocks - 1]}`;
    let previous = -1;
    for (let blocks = count - 1; blocks >= COMMON_BLOCKS_MIN && previous < 0; blocks--) {
      previous = latest.get(key(blocks)) ?? -1;
    }
    if (count >= COMMON_BLOCKS_MIN) latest.set(key(count), index);
    return previous;
  });
}
