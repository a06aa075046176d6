import type { PromptBlocks } from '../../framework/request.ts';
import type { SharedBeginning } from '../../framework/values/shared-beginning.ts';

/**
 * One block of so many is counted, 512 tokens apart: a shorter common beginning saves little time,
 * and requests are added and removed each time they move to another endpoint.
 */
const STRIDE_BLOCKS = 8;
/** A block's key: its 32 low and 21 of its high bits, which a number holds exactly. */
const LOW_RANGE = 2 ** 32;
const HIGH_BITS = 0x1f_ffff;

/** Place, count, place, count, and so on: mostly one place. */
type PlaceCounts = number[];

/**
 * The prompts of the requests that wait, or the first text of several, by the number of the place
 * for which each waits. The id of a block stands for all before it, so a block that is counted says
 * that some waiting prompt begins alike up to there.
 */
export class HeldPrompts {
  readonly #counts = new Map<number, PlaceCounts>();

  add(prompt: PromptBlocks, place: number): void {
    for (let block = STRIDE_BLOCKS - 1; block < prompt.count; block += STRIDE_BLOCKS) {
      const key = keyOf(prompt, block);
      const counts = this.#counts.get(key);
      if (counts === undefined) this.#counts.set(key, [place, 1]);
      else addTo(counts, place);
    }
  }

  /** May be called only for a prompt that was added there. */
  remove(prompt: PromptBlocks, place: number): void {
    for (let block = STRIDE_BLOCKS - 1; block < prompt.count; block += STRIDE_BLOCKS) {
      const key = keyOf(prompt, block);
      const counts = this.#counts.get(key);
      if (counts === undefined) continue;
      removeFrom(counts, place);
      if (counts.length === 0) this.#counts.delete(key);
    }
  }

  /**
   * What this prompt has in common, from its first token on, with those that wait for each place;
   * no entry for nothing. At the place `own` the prompt itself is counted, which does not count
   * here.
   */
  sharedWith(prompt: PromptBlocks, own?: number): ReadonlyMap<number, SharedBeginning> {
    const shared = new Map<number, SharedBeginning>();
    const all = this.#countsAt(prompt, 1)?.length ?? 0;
    for (let stride = this.#deepest(prompt); stride > 0; stride--) {
      const counts = this.#countsAt(prompt, stride) ?? [];
      for (let at = 0; at < counts.length; at += 2) {
        const place = counts[at] as number;
        const requests = (counts[at + 1] as number) - (place === own ? 1 : 0);
        if (requests === 0 || shared.has(place)) continue;
        shared.set(place, { tokens: stride * STRIDE_BLOCKS * prompt.blockTokens, requests });
      }
      // Each place that has a later block has the first one, too.
      if (2 * shared.size === all) break;
    }
    return shared;
  }

  /** The last counted block of the prompt: where one is counted, all before it are. */
  #deepest(prompt: PromptBlocks): number {
    let deepest = 0;
    let end = Math.floor(prompt.count / STRIDE_BLOCKS);
    while (deepest < end) {
      const middle = (deepest + end + 1) >> 1;
      if (this.#countsAt(prompt, middle) === undefined) end = middle - 1;
      else deepest = middle;
    }
    return deepest;
  }

  #countsAt(prompt: PromptBlocks, stride: number): PlaceCounts | undefined {
    const block = stride * STRIDE_BLOCKS - 1;
    return block < prompt.count ? this.#counts.get(keyOf(prompt, block)) : undefined;
  }
}

function addTo(counts: PlaceCounts, place: number): void {
  for (let at = 0; at < counts.length; at += 2) {
    if (counts[at] !== place) continue;
    counts[at + 1] = (counts[at + 1] as number) + 1;
    return;
  }
  counts.push(place, 1);
}

function removeFrom(counts: PlaceCounts, place: number): void {
  for (let at = 0; at < counts.length; at += 2) {
    if (counts[at] !== place) continue;
    const left = (counts[at + 1] as number) - 1;
    if (left > 0) counts[at + 1] = left;
    else counts.splice(at, 2);
    return;
  }
}

function keyOf({ words }: PromptBlocks, block: number): number {
  const low = words[2 * block] as number;
  const high = words[2 * block + 1] as number;
  return (high & HIGH_BITS) * LOW_RANGE + low;
}
