import type { DataSourceDefinition } from '../framework/plugin.ts';
import { approxPrefixProducer } from './sources/approx-prefix-producer.ts';
import { coreMetricsExtractor } from './sources/core-metrics-extractor.ts';
import { metricsSource } from './sources/metrics-source.ts';

/** Every data source that learns from outside or from requests. */
export const dataSources: readonly DataSourceDefinition[] = [
  metricsSource,
  coreMetricsExtractor,
  approxPrefixProducer,
];
