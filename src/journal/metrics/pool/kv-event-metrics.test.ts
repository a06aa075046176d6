import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { startPreciseIndex, stored } from '../../../../test/support/precise-index.ts';
import { eventReport } from '../../../endpoints/kv-events/event-report.ts';
import { registerKvEventMetrics } from './kv-event-metrics.ts';

/**
 * The reference's names and labels; of its sixteen, all but the latency of a look-up, which is
 * timed.
 */
const SERIES = {
  index_admissions_total: '',
  index_evictions_total: '',
  index_lookup_requests_total: '',
  index_lookup_hits_total: '',
  index_max_pod_hit_count_total: '',
  events_dedup_removed_hashes_suppressed_total: '',
  events_dedup_removed_hashes_forwarded_total: '',
  events_stores_skipped_total: '{cache_kind="unknown",reason="unknown_parent"}',
  events_removals_skipped_total: '{cache_kind="unknown",reason="unknown_group"}',
  events_active_subscribers: '',
  events_subscriber_reconnections_total: '{pod_identifier="10.0.0.1"}',
  events_messages_received_total: '{pod_identifier="10.0.0.1"}',
  events_zmq_errors_total: '{operation="connect",pod_identifier="10.0.0.1"}',
  events_pool_queue_depth: '',
  events_pool_capacity: '',
};

it("[D125] [D382] shows KV events under the reference's names and labels", async () => {
  const { add, publisher, index, request } = startPreciseIndex();
  const endpoint = add('10.0.0.1');
  const silent = add('10.0.0.2');
  publisher('tcp://10.0.0.1:5557')(
    stored([1, 2, 3, 4]),
    ['BlockStored', [9], 8, [1, 2, 3, 4], 4],
    ['BlockRemoved', [1], 'GPU', 5],
  );
  const registry = new Registry();
  let taken: readonly object[] = [];
  registerKvEventMetrics(registry, () => eventReport(taken, [endpoint, silent]));
  const lines = async (): Promise<readonly string[]> => {
    const pieces = await registry.getMetricsAsJSON();
    return pieces.flatMap(({ name, values }) =>
      values.map(({ labels }) => {
        const pairs = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
        return `${name}${pairs.length === 0 ? '' : `{${pairs.sort().join(',')}}`}`;
      }),
    );
  };
  expect(await lines()).toEqual([]);
  taken = [index];
  request({ prompt: [1, 2, 3, 4] });
  const shown = await lines();
  for (const [name, labels] of Object.entries(SERIES)) {
    expect(shown).toContain(`llm_d_epp_kv_cache_${name}${labels}`);
  }
  const received = 'llm_d_epp_kv_cache_events_messages_received_total';
  // An alert takes 0 messages a second for a publisher that has stopped.
  expect(shown.filter((line) => line.startsWith(received))).toHaveLength(1);
  expect(shown).toContain('pointsman_kv_event_stream_total{what="gaps"}');
  expect(shown).toContain('pointsman_kv_event_prompts_total{tokens="body"}');
  expect(shown).toContain('pointsman_kv_events_unusable_endpoints{reason="unknown-parent"}');
});
