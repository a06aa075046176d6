import { describe, expect, it } from 'vitest';
import { LORA, type LoraState } from '../src/framework/endpoint-attributes.ts';
import {
  type EndpointFields,
  makeContext,
  makePool,
  makeRequest,
  makeRuntime,
  NEVER,
  NOW,
} from '../test/makers.ts';
import { loraAffinity } from './lora-affinity.ts';

function serving(
  running: readonly string[],
  { waiting = [], max = 2 }: { readonly waiting?: readonly string[]; readonly max?: number } = {},
): EndpointFields {
  const state: LoraState = { running: new Set(running), waiting: new Set(waiting), max };
  return { attributes: [[LORA as never, state]] };
}

function scoresOf(fields: readonly EndpointFields[]): readonly number[] {
  const scorer = loraAffinity.create(loraAffinity.config.parse({}), makeRuntime());
  const context = makeContext({ request: makeRequest({ model: 'sql-adapter' }) });
  return scorer.score(makePool(fields), context);
}

describe('lora-affinity-scorer', () => {
  it('prefers the adapter running, then room for it, then its turn in the queue', () => {
    expect(
      scoresOf([
        serving(['sql-adapter', 'b']),
        serving(['b']),
        serving(['b', 'c'], { waiting: ['sql-adapter'] }),
        serving(['b', 'c']),
      ]),
    ).toEqual([1, 0.8, 0.6, 0]);
  });

  it('[D151] gives nothing to an endpoint that reports no adapters', () => {
    expect(scoresOf([{}, serving(['b', 'c']), serving([])])).toEqual([0, 0, 0.8]);
  });

  it('gives 0 to an endpoint without a sample, or without a recent one', () => {
    const stale = { ...serving(['sql-adapter']), sampledAt: NOW - 60_000 };
    expect(scoresOf([serving(['b', 'c']), { sampledAt: NEVER }, stale])).toEqual([0, 0, 0]);
    expect(scoresOf([{ sampledAt: NEVER }, stale])).toEqual([1, 1]);
  });
});
