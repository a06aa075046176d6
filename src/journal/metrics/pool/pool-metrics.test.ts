import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { makeEndpoint, makePool, makeRuntime, NEVER } from '../../../../test/makers.ts';
import type { Endpoint } from '../../../framework/endpoint.ts';
import { registerPoolMetrics } from './pool-metrics.ts';

async function pageOf(snapshot: () => readonly Endpoint[]): Promise<string> {
  const registry = new Registry();
  const { clock } = makeRuntime();
  registerPoolMetrics({ registry, poolName: 'pool', snapshot, clock, deprecated: true });
  return registry.metrics();
}

describe('registerPoolMetrics', () => {
  it('averages over endpoints with a fresh sample only', async () => {
    const page = await pageOf(() =>
      makePool([
        { waiting: 1, running: 4, kv: 0.2, sampledAt: 0 },
        { waiting: 3, running: 4, kv: 0.6, sampledAt: 0 },
        { waiting: 99, running: 99, kv: 1, sampledAt: NEVER },
      ]),
    );
    expect(page).toContain('llm_d_epp_average_queue_size{name="pool"} 2\n');
    expect(page).toContain('llm_d_epp_std_dev_queue_size{name="pool"} 1\n');
    expect(page).toContain('llm_d_epp_average_kv_cache_utilization{name="pool"} 0.4\n');
    expect(page).toContain('llm_d_epp_average_running_requests{name="pool"} 4\n');
    expect(page).toContain('llm_d_epp_std_dev_running_requests{name="pool"} 0\n');
    expect(page).toContain('llm_d_epp_ready_endpoints{name="pool"} 2\n');
    expect(page).toContain('inference_pool_ready_pods{name="pool"} 2\n');
    expect(page).not.toContain('llm_d_epp_per_endpoint_queue_size{model_server_endpoint="pod-2"');
  });

  it('[D324] names endpoints without their namespace, which distinguishes two of the same name', async () => {
    const page = await pageOf(() => [
      makeEndpoint('team/prefill-rank-0', { waiting: 1 }),
      makeEndpoint('team/decode-rank-0', { waiting: 2 }),
      makeEndpoint('other/decode-rank-0', { waiting: 3 }),
    ]);
    for (const [name, waiting] of [
      ['prefill-rank-0', 1],
      ['team/decode-rank-0', 2],
      ['other/decode-rank-0', 3],
    ]) {
      expect(page).toContain(
        `llm_d_epp_per_endpoint_queue_size{model_server_endpoint="${name}",name="pool"} ${waiting}\n`,
      );
      expect(page).toContain(
        `inference_pool_per_pod_queue_size{model_server_pod="${name}",name="pool"} ${waiting}\n`,
      );
    }
  });

  it('says zero, not NaN, of an empty pool', async () => {
    const page = await pageOf(() => []);
    expect(page).toContain('llm_d_epp_average_queue_size{name="pool"} 0\n');
    expect(page).toContain('llm_d_epp_std_dev_kv_cache_utilization{name="pool"} 0\n');
    expect(page).toContain('llm_d_epp_ready_endpoints{name="pool"} 0\n');
  });

  it('shows each endpoint while it is there', async () => {
    const registry = new Registry();
    let pool = makePool([{ waiting: 7 }, { waiting: 8 }]);
    const { clock } = makeRuntime();
    const snapshot = (): readonly Endpoint[] => pool;
    registerPoolMetrics({ registry, poolName: 'pool', snapshot, clock, deprecated: true });
    const before = await registry.metrics();
    expect(before).toContain(
      'llm_d_epp_per_endpoint_queue_size{model_server_endpoint="pod-1",name="pool"} 8\n',
    );
    pool = pool.slice(0, 1);
    expect(await registry.metrics()).not.toContain('pod-1');
  });
});
