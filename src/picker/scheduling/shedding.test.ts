import { expect, test } from 'vitest';
import { makeContext, makePool, makeRequest, NOW } from '../../../test/makers.ts';
import { DEFAULT_DETECTOR } from '../../flow/control/detector-types.ts';
import { RoutingError } from '../../framework/error.ts';
import { shedding } from './shedding.ts';

const shed = shedding(DEFAULT_DETECTOR);

function refuses(priority: number, waiting: number, requests = 0): unknown {
  const context = makeContext({ request: makeRequest({ priority }), load: [{ requests }] });
  try {
    shed(makePool([{ waiting }]), context);
    return undefined;
  } catch (error) {
    return error instanceof RoutingError ? error.code : error;
  }
}

test('[Q64] a request with a priority below 0 is refused while its endpoints are saturated', () => {
  expect(refuses(-1, 5)).toBe('shed');
  expect(refuses(-1, 4)).toBeUndefined();
  expect(refuses(-1, 0, 5)).toBe('shed');
  expect(refuses(0, 50)).toBeUndefined();
});

test('[Q57] while no metrics come, such requests still pass, one at a time', () => {
  const pool = makePool([{ sampledAt: NOW - 60_000 }]);
  const request = makeRequest({ priority: -1 });
  expect(() => shed(pool, makeContext({ request }))).not.toThrow();
  expect(() => shed(pool, makeContext({ request, load: [{ requests: 1 }] }))).toThrow(
    'may be shed',
  );
});
