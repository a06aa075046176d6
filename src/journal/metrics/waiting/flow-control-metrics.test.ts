import { describe, expect, test } from 'vitest';
import { FlowControlBench, makeBand } from '../../../../test/decision/flow-control-bench.ts';
import { makePool, makeRequest, NOW } from '../../../../test/makers.ts';
import { ControlledBench, PLAN } from '../../../../test/support/controlled-bench.ts';
import type { Waiting } from '../../../flow/discipline.ts';
import type { InferenceRequest } from '../../../framework/request.ts';
import { seededRandom } from '../../../runtime/seeded-random.ts';
import { PickerMetrics } from '../metrics.ts';
import { FlowControlMetrics } from './flow-control-metrics.ts';

function measured(fairness = 'strict', capacity = 1) {
  const bench = new FlowControlBench(
    {
      maxRequests: 4,
      maxBytes: 100,
      evicts: true,
      defaultBand: makeBand({ fairness, maxRequests: 2 }),
      negativeBand: makeBand({ fairness, maxRequests: 2 }),
    },
    capacity,
  );
  const metrics = new PickerMetrics();
  const stopwatch = { now: () => NOW };
  const meters = new FlowControlMetrics({ metrics, poolName: 'pool', stopwatch });
  const discipline = meters.wrap(bench.control);
  let requests = 0;
  const add = (fields: Parameters<typeof makeRequest>[0] = {}): Waiting => {
    const request = makeRequest({ id: `r${requests++}`, ...fields });
    const waiting = { request, since: NOW, bytes: 10, candidates: 1 };
    discipline.add(waiting, NOW);
    return waiting;
  };
  const place = (at: number): void => {
    for (const group of discipline.ready(at)) {
      for (const waiting of group.requests) {
        bench.inFlight += 1;
        discipline.placed(waiting, at);
      }
    }
  };
  return { bench, metrics, meters, discipline, add, place };
}

const labelsOf = (page: string, name: string): readonly string[] =>
  page.split('\n').filter((line) => line.startsWith(`llm_d_epp_${name}{`));

describe('metrics of flow control', () => {
  test('[Q71] have the names, labels and values of the reference', async () => {
    const { bench, metrics, discipline, add, place } = measured();
    add({ fairnessId: 'a' });
    place(NOW + 30);
    const gone = add({ fairnessId: 'a', priority: -1 });
    add({ fairnessId: 'b' });
    add({ fairnessId: 'b' });
    expect(() => add({ fairnessId: 'b' })).toThrow('at most 2 requests');
    discipline.remove(gone, NOW);
    const page = await metrics.page();
    const models = 'model_name="m"';
    expect(labelsOf(page, 'flow_control_queue_size')).toContain(
      `llm_d_epp_flow_control_queue_size{fairness_id="b",inference_pool="pool",${models},priority="0",target_model_name="m"} 2`,
    );
    expect(labelsOf(page, 'flow_control_queue_bytes').join()).toContain('fairness_id="b"');
    expect(labelsOf(page, 'flow_control_pool_saturation').join(' ')).toBe(
      'llm_d_epp_flow_control_pool_saturation{inference_pool="pool",stage="decode"} 1 llm_d_epp_flow_control_pool_saturation{inference_pool="pool",stage="effective"} 1',
    );
    expect(labelsOf(page, 'flow_control_requests_total')).toEqual(
      ['Dispatched', 'RejectedCapacity', 'EvictedContextCancelled'].map(
        (outcome) =>
          `llm_d_epp_flow_control_requests_total{inference_pool="pool",outcome="${outcome}",priority="${outcome.startsWith('Ev') ? -1 : 0}"} 1`,
      ),
    );
    expect(page).toContain(
      `flow_control_request_queue_duration_seconds_sum{fairness_id="a",inference_pool="pool",${models},outcome="Dispatched",priority="0",target_model_name="m"} 0.03`,
    );
    expect(page).toContain(
      'flow_control_request_enqueue_duration_seconds_count{fairness_id="b",outcome="RejectedCapacity",priority="0"} 1',
    );
    expect(page).toContain('flow_control_dispatch_cycle_duration_seconds_count 1');
    expect(page).toContain(
      'flow_control_capacity_utilization_requests{inference_pool="pool",priority="0"} 1\n',
    );
    expect(page).toContain(
      'flow_control_global_capacity_utilization_requests{inference_pool="pool"} 0.5',
    );
    expect(page).toContain(
      'flow_control_global_capacity_utilization_bytes{inference_pool="pool"} 0.2',
    );
    expect(page).toContain('flow_control_detector_saturation{detector="d",stage="decode"} 1');
    bench.endpoints = [];
    expect(discipline.expired(NOW + 60_000)).toEqual([]);
    expect(discipline.expired(NOW + 120_000)).toHaveLength(2);
    expect(await metrics.page()).toContain('outcome="EvictedNoEndpoints",priority="0"} 2');
  });

  test('[Q191] count what waits once where another flow control takes the place of this one', async () => {
    const { bench, metrics, meters, discipline, add } = measured();
    const waits = [add({ fairnessId: 'a' }), add({ fairnessId: 'a' })];
    discipline.replaced();
    const next = meters.wrap(new FlowControlBench().control);
    for (const waiting of waits) next.add(waiting, NOW);
    const lines = async (): Promise<readonly string[]> =>
      labelsOf(await metrics.page(), 'flow_control_queue_size').map(
        (line) => line.split(' ')[1] ?? '',
      );
    expect(await lines()).toEqual(['2']);
    next.replaced();
    expect(await lines()).toEqual(['0']);
    expect(labelsOf(await metrics.page(), 'flow_control_queue_bytes').join()).toMatch(/ 0$/);
    expect(bench.control.size).toBe(0);
  });

  test('[Q71] show evictions', async () => {
    const { metrics, discipline, add, place } = measured();
    const low = add({ priority: -3 });
    place(NOW);
    add({ priority: 1 });
    expect(discipline.evict?.(NOW)).toEqual([low.request]);
    const served = { promptTokens: 1, outputTokens: 1, latencyMs: 1 };
    discipline.ended(low.request, served, NOW + 20);
    const page = await metrics.page();
    const pool = 'inference_pool="pool"';
    expect(page).toContain(`flow_control_revocations_issued_total{${pool},priority="-3"} 1`);
    expect(page).toContain(`flow_control_revocations_total{${pool},outcome="confirmed"} 1`);
    expect(page).toContain(`flow_control_revocations_total{${pool},outcome="timed_out"} 0`);
    expect(page).toContain(`flow_control_reclaim_target{${pool}} 0`);
    expect(page).toContain(`flow_control_pending_reclaim{${pool}} 1`);
    expect(page).toContain(
      `flow_control_revocation_confirmation_seconds_bucket{${pool},le="0.025"} 1`,
    );
  });

  test('[Q71] show programs, and stale endpoints where a detector reads metrics', async () => {
    const { bench, metrics, discipline, add, place } = measured('least', 5);
    const one = add({ fairnessId: 'agent' });
    place(NOW + 40);
    discipline.ended(one.request, { promptTokens: 10, outputTokens: 5, latencyMs: 1 }, NOW);
    const page = await metrics.page();
    expect(page).toContain('llm_d_epp_program_aware_jains_fairness_index 1');
    expect(page).toContain(
      'llm_d_epp_program_aware_avg_wait_time_milliseconds{program_id="agent"} 40',
    );
    expect(page).toContain(
      'llm_d_epp_program_aware_attained_service_tokens{program_id="agent"} 20',
    );
    bench.endpoints = makePool([]);
    expect(page).toContain('# TYPE llm_d_epp_flow_control_stale_endpoints gauge');
  });

  test('[Q279] count each request that came once, however it left, or as one that waits', async () => {
    const metrics = new PickerMetrics();
    const stopwatch = { now: () => NOW };
    const { wrap } = new FlowControlMetrics({ metrics, poolName: 'pool', stopwatch });
    const bench = new ControlledBench({ measured: wrap });
    const random = seededRandom(5);
    const open: InferenceRequest[] = [];
    let came = 0;
    const sum = async (name: string): Promise<number> =>
      labelsOf(await metrics.page(), name)
        .map((line) => Number(line.slice(line.lastIndexOf(' '))))
        .reduce((all, each) => all + each, 0);
    for (let step = 0; step < 300; step += 1) {
      const choice = random.next();
      if (choice < 0.6 && bench.router.isOn) {
        const id = `r${came}`;
        came += 1;
        const fields = { fairnessId: `f${came % 3}`, priority: (came % 3) - 1 };
        // The stream gets the error of a request that is refused at once.
        try {
          open.push(bench.send(id, fields));
        } catch (error) {
          expect(error).toMatchObject({ code: 'saturated' });
        }
      } else if (choice < 0.7) bench.router.abandon(open[step % open.length] ?? makeRequest());
      else if (choice < 0.85)
        for (const id of bench.routed.splice(0, 1)) bench.end(makeRequest({ id }));
      else if (choice < 0.97) bench.clock.advanceTo(bench.clock.now() + 100 * random.next());
      else bench.router.configure(choice < 0.98 ? undefined : { ...PLAN, maxRequests: step % 50 });
      const waiting = await sum('flow_control_queue_size');
      expect(waiting).toBe(bench.router.waiting);
      expect((await sum('flow_control_requests_total')) + waiting).toBe(came);
    }
    expect(came).toBeGreaterThan(80);
  });
});
