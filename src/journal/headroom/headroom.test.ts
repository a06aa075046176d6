import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { headroomBed } from '../../../test/support/headroom-bed.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';

it('[O285] leaves endpoints that do not answer out of the capacity, but not out of the replicas', () => {
  const clock = new SimulatedClock();
  const { headroom, picker } = headroomBed(clock);
  const ids = ['a', 'b', 'c', 'd'].map((name) => name as EndpointId);
  const sample = (id: EndpointId): void => {
    const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
    picker.pool.observe(id, { ...idle, sampledAt: clock.now() });
  };
  for (const [at, id] of ids.entries()) {
    picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels: new Map() });
    sample(id);
  }
  picker.route(makeRequest()).done('completed');
  const capacity = (): number => headroom.report().stages[0]?.requestsPerSecond?.capacity ?? 0;
  const whole = capacity();
  expect(whole).toBeGreaterThan(0);

  clock.advanceTo(60_000);
  for (const id of ids.slice(0, 2)) sample(id);
  expect(capacity()).toBeLessThan(0.55 * whole);
  expect(headroom.report().stages[0]).toMatchObject({ endpoints: 4, replicas: 4 });

  // A pool whose metrics cannot be had at all is no pool without servers.
  clock.advanceTo(120_000);
  expect(capacity()).toBeCloseTo(whole, 6);
});
