import { chainBlockIds } from '../request/chain-block-ids.ts';
import type { Workload } from '../simulate/workload.ts';

/** A shared system prompt alone is no conversation; so many blocks in common are. */
const COMMON_BLOCKS_MIN = 2;

/**
 * For each request the place of the turn before it, -1 where there is none: the latest of its session or, where the trace
 * does not say, the latest whose full blocks are its own first ones.
 */
export function previousTurns({ requests, blockTokens }: Workload): Int32Array {
  const latestOf = new Map<string, number>();
  const latestWith = new Map<string, number>();
  return Int32Array.from(requests, ({ blockIds, model, session }, index) => {
    if (session !== undefined) {
      const previous = latestOf.get(session) ?? -1;
      latestOf.set(session, index);
      return previous;
    }
    const { words, count } = chainBlockIds(blockIds, { seedText: model, blockTokens });
    const key = (blocks: number): string => `${words[2 * blocks - 2]} ${words[2 * blocks - 1]}`;
    let previous = -1;
    for (let blocks = count - 1; blocks >= COMMON_BLOCKS_MIN && previous < 0; blocks--) {
      previous = latestWith.get(key(blocks)) ?? -1;
    }
    if (count >= COMMON_BLOCKS_MIN) latestWith.set(key(count), index);
    return previous;
  });
}
