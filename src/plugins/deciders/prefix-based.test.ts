import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../../test/makers.ts';
import { type PrefixMatch, prefixMatchKey } from '../../framework/cycle-facts.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';
import { alwaysDisaggregate, alwaysMultimodal } from './always.ts';
import { prefixBased } from './prefix-based.ts';

const [decode] = makePool([{}]);
const request = makeRequest({ promptTokens: 640 });

function separates(parameters: object, matchedBlocks = 0): boolean | undefined {
  const decider = prefixBased.create(prefixBased.config.parse(parameters), makeRuntime());
  return (
    decode && decider.separates(decode, makeContext({ request, matchedBlocks: [matchedBlocks] }))
  );
}

describe('prefix-based-pd-decider', () => {
  it.each([
    ['never, unless configured with a number of tokens', {}, 0, false],
    ['when so many are to be computed', { nonCachedTokens: 640 }, 0, true],
    ['not when the prompt is shorter than that', { nonCachedTokens: 641 }, 0, false],
    ['counts what the decoding endpoint holds', { nonCachedTokens: 500 }, 3, false],
    ['to the token', { nonCachedTokens: 512 }, 2, true],
    ['not for prompts below the gate', { nonCachedTokens: 16, promptTokens: 641 }, 0, false],
  ] as const)('%s', (_what, parameters, matched, wanted) => {
    expect(separates(parameters, matched)).toBe(wanted);
  });
});

describe('[D517] prefix-based-pd-decider with prefixMatchInfoProducerName', () => {
  /** 256 of 640 tokens are in the memory of the GPU, and 256 more in that of the host. */
  const exact: PrefixMatch = {
    totalBlocks: 10,
    blockTokens: 64,
    matchedBlocks: () => 6.4,
    heldBlocks: () => ({ inAnyTier: 8, onHost: 4 }),
  };

  function separatesBy(prefixMatchInfoProducerName: string, nonCachedTokens: number): boolean {
    const parameters = { nonCachedTokens, prefixMatchInfoProducerName };
    const decider = prefixBased.create(prefixBased.config.parse(parameters), makeRuntime());
    const byDefault = makeContext({ request, matchedBlocks: [2] });
    const get: SchedulingContext['get'] = (key) =>
      key.name === prefixMatchKey('exact').name ? (exact as never) : byDefault.get(key);
    if (decode === undefined) throw new Error('no endpoint');
    return decider.separates(decode, { ...byDefault, get });
  }

  it('asks the producer with that name, and counts a block in full in any memory', () => {
    expect([128, 129].map((tokens) => separatesBy('exact', tokens))).toEqual([true, false]);
  });

  it('asks the default producer by an empty name', () => {
    expect([512, 513].map((tokens) => separatesBy('', tokens))).toEqual([true, false]);
  });

  it('needs what that producer finds', () => {
    const needs = (parameters: object): unknown =>
      prefixBased.needs?.(prefixBased.config.parse(parameters));
    expect(needs({ prefixMatchInfoProducerName: 'exact' })).toEqual([prefixMatchKey('exact')]);
    expect(needs({})).toEqual([prefixMatchKey()]);
  });
});

it('always-disagg-pd-decider says yes', () => {
  const decider = alwaysDisaggregate.create({}, makeRuntime());
  expect(decode && decider.separates(decode, makeContext())).toBe(true);
});

it('always-disagg-multimodal-decider says yes to requests that have something to encode', () => {
  const decider = alwaysMultimodal.create({}, makeRuntime());
  const says = (mediaItems?: number): boolean | undefined => {
    const asked = { ...request, ...(mediaItems !== undefined && { mediaItems }) };
    return decode && decider.separates(decode, makeContext({ request: asked }));
  };
  expect([says(), says(0), says(2)]).toEqual([false, false, true]);
});
