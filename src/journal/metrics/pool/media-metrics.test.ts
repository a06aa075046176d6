import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { MediaCounts } from '../../../plugins/producers/media-counts.ts';
import { registerMediaMetrics } from './media-metrics.ts';

test('[D154] look-ups of media are on the metrics page by plugin, endpoint and modality', async () => {
  const counts = new MediaCounts('mm');
  counts.query('image');
  counts.query('image');
  counts.query('audio');
  counts.hit('pod-1' as never, 'image');
  for (const share of [0, 1 / 3, 0.3, 1]) counts.share(share);
  const registry = new Registry();
  let observers: readonly object[] = [{ counts: 1 }];
  registerMediaMetrics(registry, () => observers);
  expect(await registry.metrics()).not.toContain('{');
  observers = [{}, { counts }];
  const plugin = 'plugin_type="mm-embeddings-cache-producer",plugin_name="mm"';
  const page = await registry.metrics();
  for (const line of [
    `queries_total{${plugin},modality="image"} 2`,
    `queries_total{${plugin},modality="audio"} 1`,
    `hits_total{${plugin},pod="pod-1",modality="image"} 1`,
    `hit_ratio_bucket{${plugin},le="0"} 1`,
    `hit_ratio_bucket{${plugin},le="0.3"} 2`,
    `hit_ratio_bucket{${plugin},le="0.4"} 3`,
    `hit_ratio_bucket{${plugin},le="+Inf"} 4`,
    `hit_ratio_count{${plugin}} 4`,
  ]) {
    expect(page).toContain(`llm_d_epp_encoder_cache_${line}\n`);
  }
});
