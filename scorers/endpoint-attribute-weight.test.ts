import { describe, expect, test } from 'vitest';
import type { EndpointId } from '../src/framework/endpoint.ts';
import { LABEL_ATTRIBUTES } from '../src/framework/endpoint-attributes.ts';
import { EndpointPool } from '../src/picker/pool/endpoint-pool.ts';
import { numericAttribute } from '../src/plugins/parameters/numeric-attribute.ts';
import { labelProducer } from '../src/plugins/producers/label-producer.ts';
import { makeContext, makeRuntime, NOW } from '../test/makers.ts';
import { endpointAttributeWeight } from './endpoint-attribute-weight.ts';

/** A pool with one endpoint for each value of the label `gpu`, and a producer that reads it. */
function poolOf(values: readonly (string | undefined)[], parameters: object = {}): EndpointPool {
  const pool = new EndpointPool();
  const config = labelProducer.config.parse({ label: 'gpu', attributeKey: 'kind', ...parameters });
  pool.observeEndpoints(labelProducer.start(config, { name: 'l', pool, runtime: makeRuntime() }));
  for (const [at, value] of values.entries()) {
    const labels = new Map(value === undefined ? [] : [['gpu', value]]);
    pool.upsert({ id: `pod-${at}` as EndpointId, address: `10.0.0.${at}:8000`, labels });
  }
  return pool;
}

function scores(pool: EndpointPool, weights: Readonly<Record<string, number>>): readonly number[] {
  const config = endpointAttributeWeight.config.parse({
    attributeKey: 'kind',
    producer: 'l',
    weights,
  });
  const scorer = endpointAttributeWeight.create(config, makeRuntime());
  return scorer.score(pool.snapshot(), makeContext());
}

describe('endpoint-attribute-weight-scorer', () => {
  test('[D170] scores a value by its weight over the largest, and others by the least', () => {
    const pool = poolOf(['h200', 'l4', 'tpu', undefined]);
    expect(scores(pool, { h200: 8, l4: 2, a100: 4 })).toEqual([1, 0.25, 0.25, 0.25]);
  });

  test('[D170] follows a label that changes', () => {
    const pool = poolOf(['l4']);
    const labels = new Map([['gpu', 'h200']]);
    pool.upsert({ id: 'pod-0' as EndpointId, address: '10.0.0.0:8000', labels });
    expect(scores(pool, { h200: 8, l4: 2 })).toEqual([1]);
  });

  test('[D170] a weight of 0, or none at all, is an error', () => {
    const { config } = endpointAttributeWeight;
    const given = { attributeKey: 'kind', producer: 'l' };
    expect(() => config.parse({ ...given, weights: { h200: 0 } })).toThrow();
    expect(() => config.parse({ ...given, weights: {} })).toThrow('some value');
  });
});

describe('label-producer', () => {
  test('[D397] gives several labels the names of attributes, each name once', () => {
    const labels = [{ label: 'gpu', attributeKey: 'kind' }];
    const parsed = labelProducer.config.parse({ labels });
    expect(parsed).toEqual({
      labels: [{ label: 'gpu', attributeKey: 'kind', valueType: 'string' }],
    });
    expect(labelProducer.config.parse(parsed)).toEqual(parsed);
    const pool = poolOf(['l4', 'h200'], {
      labels: [{ label: 'gpu', attributeKey: 'other' }],
    });
    const named = pool.snapshot().map((each) => [...each.attribute(LABEL_ATTRIBUTES)]);
    expect(named[0]).toEqual([
      ['kind', 'l4'],
      ['other', 'l4'],
    ]);
    for (const wrong of [
      {},
      { label: 'gpu' },
      { labels: [] },
      { labels: [...labels, ...labels] },
    ]) {
      expect(() => labelProducer.config.parse(wrong)).toThrow();
    }
  });

  test('[D170] makes numbers of labels, 0 of those that are none', () => {
    const pool = poolOf(['1.5', 'many', undefined], { valueType: 'number' });
    const numbers = pool.snapshot().map((each) => numericAttribute(each, 'kind', NOW));
    expect(numbers).toEqual([1.5, 0, 0]);
  });

  test('[D170] a text is no number', () => {
    const pool = poolOf(['1.5']);
    expect(pool.snapshot().map((each) => numericAttribute(each, 'kind', NOW))).toEqual([undefined]);
  });
});
