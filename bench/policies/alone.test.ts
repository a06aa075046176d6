import { expect, it } from 'vitest';
import { uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { studyServer } from '../scenarios/pools.ts';
import { aloneTtftMs } from './alone.ts';

it('takes a prompt for cached that any server of the pool could still hold', () => {
  const blockIds = Array.from({ length: 10 }, (_, block) => block + 1);
  const request = { atMs: 0, model: 'm', promptTokens: 650, outputTokens: 5, blockIds };
  const other = { ...request, blockIds: blockIds.map((id) => id + 100) };
  const alone = (kvTokens: number, ...requests: readonly (typeof request)[]): number =>
    aloneTtftMs({
      workload: { blockTokens: 64, requests },
      pool: uniformPool(2, studyServer(kvTokens)),
    });
  const [first, again] = [0.5 + 6 + 0.04 * 650, 0.5 + 6 + 0.04 * 10];
  expect(alone(640, request)).toBeCloseTo(first, 9);
  expect(alone(640, request, other, request)).toBeCloseTo((2 * first + again) / 3, 9);
  expect(alone(320, request, other, request)).toBeCloseTo(first, 9);
});
