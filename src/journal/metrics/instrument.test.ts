import { describe, expect, it } from 'vitest';
import { makeContext, makeEndpoint, makePool } from '../../../test/makers.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { ProfileResult, Scheduler } from '../../framework/scheduling.ts';
import { instrumentation } from './instrument.ts';
import { PickerMetrics } from './metrics.ts';

/** A clock on which every reading comes 3 ms after the last. */
function steppingClock(): Clock {
  let now = 0;
  return {
    now: () => {
      now += 3;
      return now;
    },
    wallTime: () => 0,
    setTimer: () => ({ cancel: () => undefined }),
  };
}

const plugin = { name: 'my-queue', definition: { type: 'queue-scorer' } };

function scheduling(primary: ProfileResult): Scheduler {
  return { schedule: () => ({ primary, headers: new Map(), profiles: [primary] }) };
}

describe('instrumentation', () => {
  it('gives back what the plugin gives and times it', async () => {
    const metrics = new PickerMetrics();
    const { plugins } = instrumentation(metrics, steppingClock());
    const pool = makePool([{}, {}]);
    const candidates = pool.map((endpoint) => ({ endpoint, score: 1 }));
    const context = makeContext();
    const filter = plugins.filter(plugin, { filter: (endpoints) => endpoints.slice(1) });
    const scorer = plugins.scorer(plugin, { score: (endpoints) => endpoints.map(() => 0.5) });
    const picker = plugins.picker(plugin, { pick: (each) => each.slice(0, 1) });
    expect(filter.filter(pool, context)).toEqual(pool.slice(1));
    expect(scorer.score(pool, context)).toEqual([0.5, 0.5]);
    expect(picker.pick(candidates, context)).toEqual(candidates.slice(0, 1));
    const page = await metrics.page();
    for (const point of ['Filter', 'Scorer', 'Picker']) {
      expect(page).toContain(
        `llm_d_epp_plugin_duration_seconds_sum{extension_point="${point}",plugin_name="my-queue",plugin_type="queue-scorer"} 0.003`,
      );
    }
  });

  it('counts cycles by their outcome and the endpoint picked', async () => {
    const metrics = new PickerMetrics();
    const { scheduler } = instrumentation(metrics, steppingClock());
    const endpoint = makeEndpoint('ns/pod-1');
    const picked: ProfileResult = {
      kind: 'picked',
      profile: 'p',
      targets: [{ endpoint, score: 1 }],
    };
    scheduler(scheduling(picked)).schedule([endpoint], makeContext());
    scheduler(scheduling({ kind: 'exhausted', profile: 'p', candidates: 1 })).schedule(
      [endpoint],
      makeContext(),
    );
    const broken: Scheduler = {
      schedule: () => {
        throw new RangeError('scorer x gave 2, not in [0, 1]');
      },
    };
    expect(() => scheduler(broken).schedule([endpoint], makeContext())).toThrow('scorer x gave 2');
    const page = await metrics.page();
    expect(page).toContain(
      'llm_d_epp_scheduler_attempts_total{endpoint_name="pod-1",namespace="ns",port="8000",status="success",target_model_name="m"} 1\n',
    );
    expect(page).toContain(
      'llm_d_epp_scheduler_attempts_total{endpoint_name="",namespace="",port="",status="failure",target_model_name="m"} 2\n',
    );
    expect(page).toContain('llm_d_epp_scheduler_e2e_duration_seconds_count 3\n');
  });

  it('takes the counts of an endpoint that has gone off the page', async () => {
    const metrics = new PickerMetrics();
    const endpoint = makeEndpoint('pod-1');
    metrics.decisions.attempt('m', endpoint).value += 1;
    metrics.decisions.forgetEndpoint(endpoint);
    expect(await metrics.page()).not.toContain('pod-1');
  });
});
