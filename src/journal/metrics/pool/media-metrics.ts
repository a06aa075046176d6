import type { Registry } from 'prom-client';
import { MediaCounts } from '../../../plugins/producers/media-counts.ts';
import { HIT_RATIO } from '../page/bucket-bounds.ts';
import { type MetricSample, showMetric } from '../page/family.ts';

const TYPE = 'mm-embeddings-cache-producer';
const RATIO = 'llm_d_epp_encoder_cache_hit_ratio';

/** Shows what look-ups of media have found, if a plugin looks them up. */
export function registerMediaMetrics(registry: Registry, observers: () => readonly object[]): void {
  const samples = (of: (counts: MediaCounts) => readonly MetricSample[]) => () =>
    observers().flatMap((each) =>
      'counts' in each && each.counts instanceof MediaCounts ? of(each.counts) : [],
    );
  const base = ({ plugin }: MediaCounts): MetricSample['labels'] => ({
    plugin_type: TYPE,
    plugin_name: plugin,
  });
  showMetric(
    registry,
    {
      name: 'llm_d_epp_encoder_cache_queries_total',
      help: '[ALPHA] Images, videos and sounds of requests that were looked up, by kind.',
      type: 'counter',
    },
    samples((counts) =>
      [...counts.queries].map(([modality, value]) => ({
        labels: { ...base(counts), modality },
        value,
      })),
    ),
  );
  showMetric(
    registry,
    {
      name: 'llm_d_epp_encoder_cache_hits_total',
      help: '[ALPHA] Images, videos and sounds of requests that an endpoint was sent before, by endpoint and kind.',
      type: 'counter',
    },
    samples((counts) =>
      [...counts.hits].flatMap(([pod, hits]) =>
        [...hits].map(([modality, value]) => ({
          labels: { ...base(counts), pod, modality },
          value,
        })),
      ),
    ),
  );
  showMetric(
    registry,
    {
      name: RATIO,
      help: '[ALPHA] Share of a request’s media that an endpoint may hold.',
      type: 'histogram',
    },
    samples((counts) => shareSamples(counts, base(counts))),
  );
}

function shareSamples(
  { shares, shareSum }: MediaCounts,
  labels: MetricSample['labels'],
): readonly MetricSample[] {
  let below = 0;
  const buckets = HIT_RATIO.map((bound, index) => {
    below += shares[index] ?? 0;
    return { metricName: `${RATIO}_bucket`, labels: { ...labels, le: bound }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${RATIO}_bucket`, labels: { ...labels, le: '+Inf' }, value: below },
    { metricName: `${RATIO}_sum`, labels, value: shareSum },
    { metricName: `${RATIO}_count`, labels, value: below },
  ];
}
