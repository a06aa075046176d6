import { expect, test } from 'vitest';
import {
  CLUSTER_KV_CACHE_USAGE,
  CLUSTER_QUEUE_SIZE,
  CUSTOM_METRICS,
} from '../src/framework/endpoint-attributes.ts';
import type { ScorerDefinition } from '../src/framework/plugin.ts';
import { makeContext, makePool, makeRuntime } from '../test/makers.ts';
import { multiclusterKvCache, multiclusterQueue } from './multicluster.ts';

/** The scores of clusters that report these values; undefined: nothing yet. */
function scores(
  definition: ScorerDefinition,
  metric: string,
  values: readonly (number | undefined)[],
): readonly number[] {
  const pool = makePool(
    values.map((value) => ({
      attributes:
        value === undefined ? [] : [[CUSTOM_METRICS as never, new Map([[metric, value]])]],
    })),
  );
  return definition.create(definition.config.parse({}), makeRuntime()).score(pool, makeContext());
}

test.each<[readonly (number | undefined)[], readonly number[]]>([
  [
    [0, 5, 10],
    [1, 0.5, 0],
  ],
  [
    [3, 3],
    [1, 1],
  ],
  [
    [4, undefined, 8],
    [1, 0, 0],
  ],
  [[undefined], [0]],
])('[D72] clusters with queues %j score %j', (values, expected) => {
  expect(scores(multiclusterQueue, CLUSTER_QUEUE_SIZE, values)).toEqual(expected);
});

test('[D72] clusters score their free KV memory, and 0 where it is unknown or above 1', () => {
  const values = [0, 0.25, 1, 1.5, undefined];
  expect(scores(multiclusterKvCache, CLUSTER_KV_CACHE_USAGE, values)).toEqual([1, 0.75, 0, 0, 0]);
});
