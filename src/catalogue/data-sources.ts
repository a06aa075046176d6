import {
  clusterMetricsExtractor,
  clusterMetricsSource,
} from '../endpoints/clusters/cluster-metrics.ts';
import { dcgmExtractor, dcgmSource } from '../endpoints/gpu/dcgm-source.ts';
import { precisePrefixProducer } from '../endpoints/kv-events/precise-prefix-producer.ts';
import { mediaCacheProducer } from '../endpoints/media/media-cache-producer.ts';
import { modelsExtractor, modelsSource } from '../endpoints/models/models-source.ts';
import { coreMetricsExtractor } from '../endpoints/scraping/core-metrics-extractor.ts';
import { metricsSource } from '../endpoints/scraping/metrics-source.ts';
import { topologyExtractor } from '../endpoints/scraping/topology-extractor.ts';
import { tokenizer, tokenProducer } from '../endpoints/tokenize/token-producer.ts';
import type { DataSourceDefinition } from '../framework/plugin.ts';
import { latencySloAdmitter } from '../plugins/admitters/latency-slo.ts';
import { probabilisticAdmitter } from '../plugins/admitters/probabilistic.ts';
import { agentIdentity } from '../plugins/producers/agent-identity.ts';
import {
  approxPrefixProducer,
  multiclusterPrefixProducer,
} from '../plugins/producers/approx-prefix-producers.ts';
import { assignmentInformer } from '../plugins/producers/assignment-informer.ts';
import { burstPrefixProducer } from '../plugins/producers/burst/burst-prefix-producer.ts';
import { labelProducer } from '../plugins/producers/label-producer.ts';
import { latencyObserver } from '../plugins/producers/latency-observer/latency-observer.ts';
import { modelsResponder } from '../plugins/producers/models-responder.ts';
import { p2pSourceProducer } from '../plugins/producers/p2p-source.ts';
import { reserveEndpoint } from '../plugins/producers/reserve-endpoint.ts';
import { servedVerifier } from '../plugins/producers/served-verifier.ts';
import { sessionIdProducer } from '../plugins/producers/session-id.ts';
import { requestAttributeReporter } from '../plugins/reporters/request-attribute-reporter.ts';
import { disaggregatedSetRollout } from '../plugins/screeners/disaggregatedset-rollout.ts';
import { endpointPin } from '../plugins/screeners/endpoint-pin.ts';

/** Every data source: what learns from outside or from requests, and what controls requests. */
export const dataSources: readonly DataSourceDefinition[] = [
  metricsSource,
  coreMetricsExtractor,
  approxPrefixProducer,
  precisePrefixProducer,
  tokenProducer,
  tokenizer,
  topologyExtractor,
  reserveEndpoint,
  servedVerifier,
  assignmentInformer,
  latencySloAdmitter,
  probabilisticAdmitter,
  agentIdentity,
  sessionIdProducer,
  modelsSource,
  modelsExtractor,
  modelsResponder,
  requestAttributeReporter,
  p2pSourceProducer,
  disaggregatedSetRollout,
  endpointPin,
  dcgmSource,
  dcgmExtractor,
  mediaCacheProducer,
  burstPrefixProducer,
  multiclusterPrefixProducer,
  clusterMetricsSource,
  clusterMetricsExtractor,
  labelProducer,
  latencyObserver,
];
