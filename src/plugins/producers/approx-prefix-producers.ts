import { prefixMatchKey } from '../../framework/cycle-facts.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';
import { type ApproxPrefixConfig, approxPrefixConfig } from './approx-prefix-config.ts';
import { ApproxPrefixIndex } from './approx-prefix-index.ts';
import { SentPrefixIndex } from './sent-prefix-index.ts';

/**
 * Predicts what each endpoint's prefix cache holds from the prompts sent there: as the reference
 * does, or with `keepInFlight` as engines do.
 */
export const approxPrefixProducer: DataSourceDefinition = approxProducer(
  'approx-prefix-cache-producer',
);

/** `approx-prefix-cache-producer` for endpoints that are clusters. */
export const multiclusterPrefixProducer: DataSourceDefinition = approxProducer(
  'multicluster-approx-prefix-cache-producer',
);

function approxProducer(type: string): DataSourceDefinition {
  return defineDataSource<ApproxPrefixConfig>({
    type,
    config: approxPrefixConfig,
    provides: (_config, name) => [prefixMatchKey(name)],
    start: (parsed, { name, runtime }) =>
      parsed.keepInFlight
        ? new ApproxPrefixIndex(parsed, name)
        : new SentPrefixIndex(parsed, name, runtime.clock),
  });
}
