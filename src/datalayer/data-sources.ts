import type { DataSourceDefinition } from '../framework/plugin.ts';
import { assignmentInformer } from './assignment/assignment-informer.ts';
import { precisePrefixProducer } from './kv-events/precise-prefix-producer.ts';
import { approxPrefixProducer } from './sources/approx-prefix-producer.ts';
import { coreMetricsExtractor } from './sources/core-metrics-extractor.ts';
import { metricsSource } from './sources/metrics-source.ts';
import { servedVerifier } from './sources/served-verifier.ts';
import { topologyExtractor } from './sources/topology-extractor.ts';
import { tokenizer, tokenProducer } from './tokenize/token-producer.ts';

/** Every data source that learns from outside or from requests. */
export const dataSources: readonly DataSourceDefinition[] = [
  metricsSource,
  coreMetricsExtractor,
  approxPrefixProducer,
  precisePrefixProducer,
  tokenProducer,
  tokenizer,
  topologyExtractor,
  servedVerifier,
  assignmentInformer,
];
