import { describe, expect, it } from 'vitest';
import { makePool } from '../../../test/makers.ts';
import { worldOf } from '../../../test/support/waiting-bed.ts';
import { DEFAULT_PREFIX_PRODUCER, prefixMatchKey } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { STARTED_AT } from '../../framework/endpoint-attributes.ts';
import type { Usage } from '../../framework/observer.ts';
import type { PromptBlocks } from '../../framework/request.ts';
import { CachedCounts } from './cached-counts.ts';

const USAGE = { promptTokens: 4000, completionTokens: 20 };
/** As vLLM and SGLang report it in completions, whether they count nothing or nothing was cached. */
const LEFT_OUT: Usage = { ...USAGE, cachedTokens: undefined, leavesOutZero: true };
const COUNTED: Usage = { ...USAGE, cachedTokens: 3000, leavesOutZero: true };

const [a, b] = makePool([{}, {}]) as readonly [Endpoint, Endpoint];

describe('cached tokens that an answer does not count', () => {
  it('[Q380] are 0 where the server has counted some in such an answer before, else unknown', () => {
    const counts = new CachedCounts();
    expect(counts.completed(a, LEFT_OUT)).toEqual({ ...USAGE, cachedTokens: undefined });
    expect(counts.completed(a, COUNTED)).toEqual({ ...USAGE, cachedTokens: 3000 });
    expect(counts.completed(a, LEFT_OUT)).toEqual({ ...USAGE, cachedTokens: 0 });
    expect(counts.completed(b, LEFT_OUT)).toEqual({ ...USAGE, cachedTokens: undefined });
  });

  it('[Q380] are unknown in answers of another form, which say nothing about that of completions', () => {
    const counts = new CachedCounts();
    counts.completed(a, { ...USAGE, cachedTokens: 3000 });
    expect(counts.completed(a, LEFT_OUT).cachedTokens).toBeUndefined();
    counts.completed(a, COUNTED);
    expect(counts.completed(a, { ...USAGE, cachedTokens: undefined }).cachedTokens).toBeUndefined();
  });

  it('[Q380] are unknown again once the server has begun anew or has left', () => {
    const [before, now] = makePool(
      [100, 200].map((at) => ({ attributes: [[STARTED_AT as never, at]] })),
    ) as readonly [Endpoint, Endpoint];
    for (const end of [
      (counts: CachedCounts) => counts.onEndpointChanged({ ...now, slot: a.slot }, before),
      (counts: CachedCounts) => counts.onEndpointRemoved(a),
    ]) {
      const counts = new CachedCounts();
      counts.completed(a, COUNTED);
      end(counts);
      expect(counts.completed(a, LEFT_OUT).cachedTokens).toBeUndefined();
    }
  });
});

describe('[Q381] the cache of a server that leaves out a count of 0', () => {
  const PROMPT_BLOCKS = 60;

  /** Tokens of a known prompt that are expected to be cached after these answers to others. */
  function expectedAfter(answers: readonly Usage[]): number {
    const { picker, clock, routed, decided, send } = worldOf(1);
    const ask = (number: number, usage: Usage): void => {
      clock.advanceTo(clock.now() + 100);
      const id = `${clock.now()}`;
      send({ id, promptTokens: 64 * PROMPT_BLOCKS, prompt: promptNumber(number) });
      routed.get(id)?.done('completed', usage);
    };
    for (let number = 0; number <= answers.length; number++) ask(number, LEFT_OUT);
    answers.forEach((usage, at) => ask(at + 1, usage));
    ask(0, LEFT_OUT);
    const [endpoint] = picker.pool.snapshot() as readonly [Endpoint];
    const match = decided.at(-1)?.context?.get(prefixMatchKey(DEFAULT_PREFIX_PRODUCER));
    return 64 * (match?.matchedBlocks(endpoint) ?? Number.NaN);
  }

  function promptNumber(number: number): PromptBlocks {
    const words = Uint32Array.from({ length: 2 * PROMPT_BLOCKS }, (_, at) => number * 1009 + at);
    return { count: PROMPT_BLOCKS, blockTokens: 64, words };
  }

  it('is taken for lost after three answers without a count, once there was one', () => {
    const whole = 64 * PROMPT_BLOCKS;
    expect(expectedAfter([COUNTED, LEFT_OUT, LEFT_OUT])).toBe(whole);
    expect(expectedAfter([COUNTED, LEFT_OUT, LEFT_OUT, LEFT_OUT])).toBe(0);
    expect(expectedAfter([LEFT_OUT, LEFT_OUT, LEFT_OUT, LEFT_OUT])).toBe(whole);
  });
});
