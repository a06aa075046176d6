import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../test/makers.ts';
import { contextLengthAware } from './context-length-aware.ts';

const range = (value: string) => ({ labels: { 'llm-d.ai/context-length-range': value } });
const pool = makePool([range('0-10000'), range('0-1000'), range('5000-10000'), {}, range('9-1')]);
const context = makeContext({ request: makeRequest({ promptTokens: 2000 }) });
const create = (parameters: object) =>
  contextLengthAware.create(contextLengthAware.config.parse(parameters), makeRuntime());

describe('context-length-aware', () => {
  it('prefers the range the prompt is in, then the nearer one', () => {
    const wanted = [
      0.3 + 0.7 * (0.7 / (1 + 10_000 / 10_000) + 0.3 * (8000 / 10_000)),
      0.3 / (1 + 1),
      0.3 / (1 + 3),
      0.5,
      // A label that is no range.
      0,
    ];
    create({})
      .score(pool, context)
      .forEach((score, index) => expect(score).toBeCloseTo(wanted[index] ?? -1, 10));
  });

  it('prefers the narrower of two ranges', () => {
    const [wide = 0, narrow = 0] = create({}).score(
      makePool([range('0-100000'), range('0-4000')]),
      context,
    );
    expect(narrow).toBeGreaterThan(wide);
  });

  it('drops those it does not fit only when configured to filter', () => {
    expect(create({}).filter).toBeUndefined();
    const kept = create({ enableFiltering: true }).filter?.(pool, context);
    expect(kept?.map(({ id }) => id)).toEqual(['pod-0', 'pod-3']);
  });

  describe('with a producer of reusable tokens', () => {
    const label = 'llm-d.ai/prefill-work-range';
    const parameters = { label, reusableTokensProducerName: 'p2p', enableFiltering: true };
    const work = (value: string) => ({ labels: { [label]: value } });
    const ranges = makePool([work('0-500'), work('501-9000'), work('0-0')]);
    const keptOf = (promptTokens: number, reusableTokens: number): readonly string[] => {
      const request = makeRequest({ promptTokens });
      const given = makeContext({ request, reusableTokens });
      const [best] = create(parameters)
        .score(ranges, given)
        .map((score, at) => ({ score, at }))
        .toSorted((a, b) => b.score - a.score);
      const kept = create(parameters).filter?.(ranges, given) ?? [];
      expect(kept.map(({ slot }) => slot)).toContain(best?.at);
      return kept.map(({ id }) => id);
    };

    it('[D611] a prompt is as long as what is left to compute, and at least one token', () => {
      expect(keptOf(2000, 0)).toEqual(['pod-1']);
      expect(keptOf(2000, 1600)).toEqual(['pod-0']);
      expect(keptOf(2000, 2064)).toEqual(['pod-0']);
      expect(keptOf(0, 100)).toContain('pod-2');
    });

    it('[D611] needs a label of its own', () => {
      const refused = { reusableTokensProducerName: 'p2p' };
      expect(() => contextLengthAware.config.parse(refused)).toThrow(/another one than/);
      expect(() =>
        contextLengthAware.config.parse({ reusableTokensProducerName: '' }),
      ).not.toThrow();
    });
  });

  it('reads another label where configured to', () => {
    const [score] = create({ label: 'tokens' }).score(
      makePool([{ labels: { tokens: '3000-4000' } }]),
      context,
    );
    expect(score).toBeCloseTo(0.15, 10);
  });
});
