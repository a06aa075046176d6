import { describe, expect, it } from 'vitest';
import { makeContext, makePool } from '../../../test/makers.ts';
import type { Clock } from '../../framework/runtime.ts';
import { type CycleKey, type Picker, scoredOf } from '../../framework/scheduling.ts';
import { type Preparation, waitForAll } from '../../picker/cores/preparation.ts';
import { PluginFaults } from '../../picker/faults/plugin-faults.ts';
import type { PluginUse } from '../../picker/plan/instantiate.ts';
import type { PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { PickerMetrics } from './metrics.ts';
import { timedPlugins } from './timed-plugins.ts';

const TOKENS: CycleKey<number> = { name: 'tokens' };

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

const plugin = { name: 'my-queue', definition: { type: 'queue-scorer' } } as PlannedPlugin;
const use: PluginUse = { profile: 'p', weight: 1 };

describe('timedPlugins', () => {
  it('gives back what the plugin gives and times it', async () => {
    const metrics = new PickerMetrics();
    const plugins = timedPlugins(metrics, steppingClock());
    const pool = makePool([{}, {}]);
    const candidates = pool.map((endpoint) => ({ endpoint, score: 1 }));
    const context = makeContext();
    const filter = plugins.filter(plugin, { filter: (endpoints) => endpoints.slice(1) }, use);
    const scorer = plugins.scorer(plugin, { score: (endpoints) => endpoints.map(() => 0.5) }, use);
    const picker = plugins.picker(plugin, { pick: (each) => each.slice(0, 1) }, use);
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

  it('[B251] times a pick from totals, where the picker has one', async () => {
    const metrics = new PickerMetrics();
    const plugins = timedPlugins(metrics, steppingClock());
    const pool = makePool([{}, {}]);
    const pick: Picker = { pick: () => [], pickFrom: (each) => scoredOf(each).slice(1) };
    const picked = plugins
      .picker(plugin, pick, use)
      .pickFrom?.({ endpoints: pool, totals: [1, 0.5] }, makeContext());
    expect(picked).toEqual([{ endpoint: pool[1], score: 0.5 }]);
    expect(await metrics.page()).toContain('extension_point="Picker",plugin_name="my-queue"');
    expect(plugins.picker(plugin, { pick: () => [] }, use).pickFrom).toBeUndefined();
  });

  it('[D330] times what a data source computes for a request, and prepares until it is ready', async () => {
    const metrics = new PickerMetrics();
    const plugins = timedPlugins(metrics, steppingClock());
    const fact = plugins.fact?.(plugin, { key: TOKENS, compute: () => 7 });
    expect(fact?.compute([], makeContext())).toBe(7);
    const stopwatch = plugins.preparations?.(plugin);
    const later: (() => void)[] = [];
    const begins: readonly Preparation['begin'][] = [
      () => false,
      (done) => {
        later.push(done, done);
        return true;
      },
      () => {
        throw new Error('broken on purpose');
      },
    ];
    const preparations = begins.map((begin): Preparation => ({ part: {}, begin, stopwatch }));
    const parts = { faults: new PluginFaults(), clock: new SimulatedClock() };
    expect(waitForAll(preparations, () => undefined, parts)).toBe(true);
    expect(await countOf(metrics)).toBe('3');
    for (const done of later) done();
    expect(await countOf(metrics)).toBe('4');
  });
});

it('[D381] times look-ups of prompts under the reference’s name', async () => {
  const metrics = new PickerMetrics();
  const plugins = timedPlugins(metrics, steppingClock());
  expect(await metrics.page()).not.toContain('lookup_latency_seconds_sum');
  plugins.lookups?.(plugin).observe(20);
  plugins.lookups?.(plugin).observe(5);
  expect(await metrics.page()).toContain(
    'llm_d_epp_kv_cache_index_lookup_latency_seconds_sum 0.025\n',
  );
});

/** How often data sources were timed. */
async function countOf(metrics: PickerMetrics): Promise<string | undefined> {
  const labels = 'extension_point="DataProducer",plugin_name="my-queue",plugin_type="queue-scorer"';
  const line = `llm_d_epp_plugin_duration_seconds_count{${labels}} `;
  const page = await metrics.page();
  return page
    .split('\n')
    .find((each) => each.startsWith(line))
    ?.slice(line.length);
}
