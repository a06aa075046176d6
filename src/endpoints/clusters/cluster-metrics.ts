import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CLUSTER_KV_CACHE_USAGE, CLUSTER_QUEUE_SIZE } from '../../framework/endpoint-attributes.ts';
import {
  type DataSourceDefinition,
  type DataSourceHost,
  defineDataSource,
  type EndpointWriter,
} from '../../framework/plugin.ts';
import { CLIENT_PAIR, hasClientPair, httpTlsFields } from '../../plugins/parameters/http-tls.ts';
import { optionalPort } from '../../plugins/parameters/optional-port.ts';
import { sharedSink } from '../scraping/endpoint-readings.ts';
import { SeriesFinder } from '../scraping/page/prometheus-scan.ts';
import { EMPTY_READING, type PageReading } from '../scraping/page/reading.ts';
import { parseSpec } from '../scraping/page/series-spec.ts';
import { pageFields, pollInterval, sourceOrder } from '../scraping/page-fields.ts';
import { PagePoller, type PageSink, type PollConfig } from '../scraping/page-poller.ts';

const TYPE = 'multicluster-metrics-data-source';
/** A picker brings its averages up to date every few seconds. */
const INTERVAL_MS = 1000;
const TIMEOUT_MS = 1000;
const PAGE_BYTES_MAX = 8 * 1024 * 1024;

interface ClusterMetricsConfig extends PollConfig {
  readonly path: string;
  readonly port?: number | undefined;
  /** Undefined: the extractor of the pool. */
  readonly extractors?: readonly ClusterMetricNames[] | undefined;
  readonly order?: number | undefined;
}

/** The metrics of a cluster's picker that say how loaded its pool is. */
interface ClusterMetricNames {
  readonly kvCacheUtilizationMetric: string;
  readonly queueSizeMetric: string;
}

const metricName = (byDefault: string): z.ZodType<string, string | undefined> =>
  z
    .string()
    .regex(
      /^$|^[A-Za-z_:][A-Za-z0-9_:]*(?:\{[^{}]*\})?$/,
      'must be the name of a metric, or name{label=value}',
    )
    .optional()
    .transform((name) => name || byDefault);

const names = z.lazy(() =>
  z.strictObject({
    kvCacheUtilizationMetric: metricName('llm_d_epp_average_kv_cache_utilization'),
    queueSizeMetric: metricName('llm_d_epp_average_queue_size'),
  }),
);

const config = z.lazy(() =>
  z
    .strictObject({
      ...pageFields('https', '/metrics'),
      port: optionalPort,
      /** Read for compatibility, without effect: only the lines that count are read anyway. */
      families: z.array(z.string()).optional(),
      interval: pollInterval(INTERVAL_MS),
      /**
       * The extractors of this source's own pages, where a configuration has several; else the
       * pool's extractor reads them.
       */
      extractors: z.array(names).min(1).optional(),
      order: sourceOrder,
      ...httpTlsFields,
    })
    .refine(hasClientPair, CLIENT_PAIR),
);

// By pool, as the pool's metrics source may start before or after the extractor.
const configured = new WeakMap<EndpointWriter, ClusterMetricNames>();

/** Reads how loaded the pools of other clusters are, from the metrics pages of their pickers. */
export const clusterMetricsSource: DataSourceDefinition = defineDataSource<ClusterMetricsConfig>({
  type: TYPE,
  config,
  start: (parsed, host) =>
    new PagePoller({
      config: parsed,
      host,
      sourceType: TYPE,
      timeoutMs: TIMEOUT_MS,
      bodyBytesMax: PAGE_BYTES_MAX,
      urlOf: (endpoint) => urlOf(parsed, endpoint),
      sinkOf: (endpoint) => sinkOf(parsed, endpoint, host),
    }),
});

/** Says which metrics of the pages count. */
export const clusterMetricsExtractor: DataSourceDefinition = defineDataSource({
  type: 'multicluster-metrics-extractor',
  config: names,
  start(parsed, { pool }) {
    configured.set(pool, parsed);
    return { stop: () => void configured.delete(pool) };
  },
});

/** Where the cluster's picker has its page: its labels, or else its own address. */
function urlOf({ scheme, path, port }: ClusterMetricsConfig, { address, labels }: Endpoint): URL {
  const url = new URL(`${scheme}://${address}${path}`);
  const host = labels.get('metricsAddress') ?? '';
  if (host !== '') url.hostname = host.includes(':') ? `[${host}]` : host;
  url.port = labels.get('metricsPort') ?? String(port ?? url.port);
  return url;
}

/** Throws where a page has none of the metrics. */
function sinkOf(
  { extractors, order }: ClusterMetricsConfig,
  { id }: Endpoint,
  { pool, runtime }: DataSourceHost,
): PageSink {
  const sink = sharedSink(pool, id, order);
  const take = (page: Uint8Array): void => {
    const wanted = extractors ?? [configured.get(pool) ?? names.parse({})];
    const reading = readingOf(Buffer.from(page), wanted);
    sink.take({ reading, sampledAt: runtime.clock.now() });
  };
  return { ...sink, take };
}

/** Where several extractors find the same, the last one counts, as in the reference. */
function readingOf(page: Buffer, wanted: readonly ClusterMetricNames[]): PageReading {
  const last = (nameOf: (names: ClusterMetricNames) => string): number | undefined =>
    wanted.map((each) => valueIn(page, nameOf(each))).findLast((value) => value !== undefined);
  const kvUsage = last((each) => each.kvCacheUtilizationMetric);
  const waiting = last((each) => each.queueSizeMetric);
  const custom = new Map<string, number>();
  if (kvUsage !== undefined) custom.set(CLUSTER_KV_CACHE_USAGE, kvUsage);
  if (waiting !== undefined) custom.set(CLUSTER_QUEUE_SIZE, waiting);
  if (custom.size === 0) throw new Error(`has ${wanted.map(neitherOf).join(', and ')}`);
  return { ...EMPTY_READING, waiting, kvUsage, custom };
}

const neitherOf = ({ kvCacheUtilizationMetric, queueSizeMetric }: ClusterMetricNames): string =>
  `neither ${kvCacheUtilizationMetric} nor ${queueSizeMetric}`;

/** Undefined where the page has no such number, or one that cannot be. */
function valueIn(page: Buffer, name: string): number | undefined {
  const value = new SeriesFinder(parseSpec(name)).first(page)?.value;
  return value !== undefined && value >= 0 && Number.isFinite(value) ? value : undefined;
}
