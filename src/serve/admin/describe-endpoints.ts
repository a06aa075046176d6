import { scrapeErrorsOf } from '../../endpoints/scraping/scrape-errors.ts';
import { isFresh } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../framework/keys.ts';
import { prefixIndexes } from '../../journal/metrics/metrics.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';

/** The pool as JSON for people: each endpoint with its last report and what is in flight there. */
export function describeEndpoints(picker: EndpointPicker, now: number, sessions: number): unknown {
  const indexes = prefixIndexes(picker.observers());
  return {
    sessions,
    endpoints: picker.pool.snapshot().map((endpoint) => {
      const { id, address, labels, metrics } = endpoint;
      const { sampledAt, ...values } = metrics;
      const lora = endpoint.attribute(LORA);
      const error = scrapeErrorsOf(picker.pool).of(id);
      return {
        id,
        address,
        labels: Object.fromEntries(labels),
        fresh: isFresh(endpoint, now),
        // JSON has no infinity: an endpoint that was never scraped has no age.
        metricsAgeMs: Number.isFinite(sampledAt) ? Math.round(now - sampledAt) : undefined,
        metrics: Number.isFinite(sampledAt) ? values : undefined,
        scrapeError: error && {
          failure: error.failure,
          reason: error.reason,
          inSuccession: error.inSuccession,
        },
        cache: endpoint.attribute(CACHE_CONFIG),
        lora: lora && { running: [...lora.running], waiting: [...lora.waiting], max: lora.max },
        inFlight: { ...picker.ledger.load(endpoint) },
        prefixIndexBlocks: Object.fromEntries(
          indexes.map((index) => [index.name, index.size(endpoint)]),
        ),
      };
    }),
  };
}
