import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../../test/makers.ts';
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
