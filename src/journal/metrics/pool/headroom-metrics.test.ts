import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { makeRequest } from '../../../../test/makers.ts';
import { headroomBed } from '../../../../test/support/headroom-bed.ts';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { registerHeadroomMetrics } from './headroom-metrics.ts';

it('[Q110] shows the headroom of prefill and decode servers apart', async () => {
  const clock = new SimulatedClock();
  const { headroom, picker } = headroomBed(clock);
  const registry = new Registry();
  registerHeadroomMetrics(registry, headroom);
  for (const [id, role] of [
    ['p', 'prefill'],
    ['d', 'decode'],
  ] as const) {
    const labels = new Map([['llm-d.ai/role', role]]);
    picker.pool.upsert({ id: id as EndpointId, address: `${id}:8000`, labels });
  }
  picker.route(makeRequest()).done('completed');
  const page = await registry.metrics();
  expect(page).toContain('pointsman_desired_replicas{stage="decode"} 1');
  expect(page).toMatch(/pointsman_needed_replicas\{stage="decode"\} 0(\.\d+)?\n/);
  expect(page).toContain('pointsman_replicas{stage="prefill"} 1');
  expect(page).toMatch(/pointsman_capacity_requests_per_second\{stage="decode"\} [1-9]/);
  expect(page).toContain('pointsman_time_to_saturation_seconds{stage="decode"} +Inf');
  expect(page).toMatch(/pointsman_endpoint_saturation\{.*endpoint_name="d".*\} 0\.0/);
  picker.stop();
});
