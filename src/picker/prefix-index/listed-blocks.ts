import type { PrefixIndex } from './prefix-index.ts';
import { NO_RECORD } from './records.ts';

/** In the high word of a listed block: a run begins with it. The index does not use this bit. */
const RUN_BEGINS = 0x10000;

/**
 * The `count` newest blocks of an endpoint, newest first, for `addListed` of another index. `end` is
 * the end of its order of use; it holds as many blocks at least.
 */
export function listNewest(index: PrefixIndex, end: number, count: number): Uint32Array {
  const words = new Uint32Array(2 * count);
  let block = 0;
  for (let at = index.older(end); block < count; at = index.older(at)) {
    const held = Math.min(index.held(at), count - block);
    index.runs.read(index.run(at), held, words, block);
    words[2 * block + 1] = (words[2 * block + 1] as number) | RUN_BEGINS;
    block += held;
  }
  return words;
}

/**
 * Adds listed blocks to an endpoint as older than all that it holds, no more than `room` of them.
 * Blocks that it holds keep their place. Returns how many it holds more.
 */
export function addListed(
  index: PrefixIndex,
  end: number,
  words: Uint32Array,
  room: number,
): number {
  const count = words.length >> 1;
  let added = 0;
  let from = 0;
  while (from < count && added < room) {
    let to = from + 1;
    while (to < count && ((words[2 * to + 1] as number) & RUN_BEGINS) === 0) to++;
    const fitting = Math.min(to, from + room - added);
    added += addRun(index, end, words.subarray(2 * from, 2 * fitting));
    from = to;
  }
  return added;
}

/** Adds the blocks of one run. */
function addRun(index: PrefixIndex, end: number, words: Uint32Array): number {
  const count = words.length >> 1;
  let added = 0;
  let block = 0;
  while (block < count) {
    const oldest = index.newer(end);
    const known = index.runs.find(words, block);
    const run = known === NO_RECORD ? index.runs.add(words, block, count) : known;
    const length = index.runs.matching(run, words, block, count);
    const holding = index.holdingOf(run, index.owner(end));
    const held = holding === NO_RECORD ? 0 : index.held(holding);
    if (held === 0) {
      index.add(run, length, oldest);
      added += length;
    } else if (held < length) {
      // What is added behind is older than what is here.
      index.split(run, held);
    }
    block += held === 0 ? length : Math.min(held, length);
  }
  return added;
}
