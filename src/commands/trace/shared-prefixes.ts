import { prefixKeys } from '../../lab/traces/prefix-keys.ts';
import type { Trace } from '../../lab/traces/trace.ts';
import { PrefixSet } from './prefix-set.ts';

/** What prompts have in common with earlier ones to the same model, in whole blocks. */
export interface SharedPrefixes {
  readonly blockTokens: number;
  /** The share of all prompt tokens that begin an earlier prompt: the most a cache can save. */
  readonly sharedTokens: number;
  /** The share of the requests of which that is so for at least one block. */
  readonly sharingRequests: number;
  /** What a cache has to hold so that none of it is ever computed twice. */
  readonly distinctTokens: number;
}

/** Undefined where no request has blocks. */
export function sharedPrefixesOf({ requests, blockTokens }: Trace): SharedPrefixes | undefined {
  if (requests.every(({ blockIds }) => blockIds.length === 0)) return undefined;
  const seen = new PrefixSet();
  let [promptTokens, sharedTokens, sharing] = [0, 0, 0];
  for (const request of requests) {
    const own = request.promptTokens;
    let old = 0;
    // A block that is new is followed by new ones.
    for (const key of prefixKeys(request)) if (!seen.add(key)) old += 1;
    promptTokens += own;
    sharedTokens += Math.min(own, old * blockTokens);
    if (old > 0) sharing += 1;
  }
  return {
    blockTokens,
    sharedTokens: sharedTokens / promptTokens,
    sharingRequests: sharing / requests.length,
    distinctTokens: seen.size * blockTokens,
  };
}
