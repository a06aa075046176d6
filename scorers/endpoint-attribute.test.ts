import { describe, expect, it } from 'vitest';
import { CUSTOM_METRICS, GPU_UTILIZATION } from '../src/framework/endpoint-attributes.ts';
import { endpointAttributeFilter } from '../src/plugins/filters/endpoint-attribute.ts';
import { type EndpointFields, makeContext, makePool, makeRuntime, NEVER } from '../test/makers.ts';
import { endpointAttribute } from './endpoint-attribute.ts';

const heat = (value: number): EndpointFields => ({
  attributes: [[CUSTOM_METRICS as never, new Map([['heat', value]])]],
});
const pool = makePool([heat(20), heat(60), heat(100), {}]);

function scores(algorithm: object, endpoints = pool): readonly number[] {
  const config = endpointAttribute.config.parse({ attributeKey: 'heat', algorithm });
  return endpointAttribute.create(config, makeRuntime()).score(endpoints, makeContext());
}

function kept(parameters: object): readonly string[] {
  const config = endpointAttributeFilter.config.parse({ attribute: 'heat', ...parameters });
  const filter = endpointAttributeFilter.create(config, makeRuntime());
  return filter.filter(pool, makeContext()).map(({ id }) => id);
}

describe('endpoint-attribute-scorer', () => {
  it('scores over the range of the candidates, nothing where the figure is missing', () => {
    expect(scores({ type: 'linear_lower_is_better' })).toEqual([1, 0.5, 0, 0]);
    expect(scores({ type: 'linear_higher_is_better' })).toEqual([0, 0.5, 1, 0]);
  });

  it('scores over a fixed range, and holds what is outside at its ends', () => {
    const normalization = { fixedRange: { min: 60, max: 80 } };
    expect(scores({ type: 'linear_higher_is_better', normalization })).toEqual([0, 0, 1, 0]);
  });

  it('[D619] knows how busy GPUs are where the page of the server itself is not read', () => {
    const busy = (share: number): EndpointFields => ({
      sampledAt: NEVER,
      attributes: [[GPU_UTILIZATION as never, share]],
    });
    const algorithm = { type: 'linear_lower_is_better' };
    for (const attributeKey of ['GPUUtilization', 'GPUUtilization/dcgm-extractor']) {
      const config = endpointAttribute.config.parse({ attributeKey, algorithm });
      const { score } = endpointAttribute.create(config, makeRuntime());
      expect(score(makePool([busy(0.9), busy(0.1)]), makeContext())).toEqual([0, 1]);
    }
    const unscraped = heat(20);
    expect(scores(algorithm, makePool([{ ...unscraped, sampledAt: NEVER }, heat(60)]))[0]).toBe(0);
  });

  it('gives all the same to equals', () => {
    expect(scores({ type: 'linear_lower_is_better' }, makePool([heat(3), heat(3)]))).toEqual([
      1, 1,
    ]);
  });
});

describe('endpoint-attribute-filter', () => {
  const below = (value: number) => ({
    algorithm: { type: 'threshold', threshold: { operator: 'LessThan', value } },
  });

  it('keeps what compares as configured, and what has no such figure', () => {
    expect(kept(below(60))).toEqual(['pod-0', 'pod-3']);
  });

  it('drops what has none where configured to fail it', () => {
    expect(kept({ ...below(60), onMissing: 'Fail' })).toEqual(['pod-0']);
  });

  it('keeps nothing, or all where configured to fall back', () => {
    expect(kept({ ...below(0), onMissing: 'Fail' })).toEqual([]);
    expect(kept({ ...below(0), onMissing: 'Fail', fallbackOnEmpty: true })).toHaveLength(4);
  });
});
