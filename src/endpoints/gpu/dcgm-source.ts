import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { GPU_UTILIZATION } from '../../framework/endpoint-attributes.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';
import { CLIENT_PAIR, hasClientPair, httpTlsFields } from '../../plugins/parameters/http-tls.ts';
import { JoinedSources } from '../scraping/joined-sources.ts';
import { pageFields, pollInterval, sourceOrder } from '../scraping/page-fields.ts';
import { PagePoller, type PollConfig } from '../scraping/page-poller.ts';

const TYPE = 'dcgm-data-source';
/** DCGM samples its counters once a second or less often. */
const INTERVAL_MS = 1000;
const TIMEOUT_MS = 1000;
/** A node with 16 GPUs has some 100 KiB. */
const PAGE_BYTES_MAX = 1024 * 1024;

/** One series of the busy share of one GPU, in percent: labels and value. */
const SERIES = /^DCGM_FI_DEV_GPU_UTIL(?:\{([^\n]*)\})?[ \t]+(\S+)/gm;
const POD = /(?:^|,)\s*pod="([^"]*)"/;

interface DcgmConfig extends PollConfig {
  readonly path: string;
  readonly port: number;
  readonly useNodeAddress: boolean;
  readonly order?: number | undefined;
}

const config = z.lazy(() =>
  z
    .strictObject({
      ...pageFields('http', '/metrics'),
      port: z.int().min(1).max(65_535).default(9400),
      /** The exporter runs once on each node, and not beside each model server. */
      useNodeAddress: z.boolean().default(false),
      interval: pollInterval(INTERVAL_MS),
      order: sourceOrder,
      ...httpTlsFields,
    })
    .refine(hasClientPair, CLIENT_PAIR),
);

/** Where several sources find the value, the first one counts. An equal value changes nothing. */
const utilizations = new JoinedSources<number>((pool, id) => {
  let last: number | undefined;
  return ([utilization]) => {
    if (utilization === last) return;
    last = utilization;
    pool.set(id, GPU_UTILIZATION, utilization);
  };
});

/**
 * Reads how busy the GPUs of each endpoint are from NVIDIA's DCGM exporter: the busiest of its GPUs
 * counts. Scorers and filters read it as the attribute `GPUUtilization`.
 */
export const dcgmSource: DataSourceDefinition = defineDataSource<DcgmConfig>({
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
      sinkOf: (endpoint) => {
        const part = utilizations.join(host.pool, endpoint.id, parsed.order);
        const pod = podOf(endpoint);
        const take = (page: Uint8Array): void =>
          part.take(utilizationIn(new TextDecoder().decode(page), pod));
        return { ...part, take };
      },
    }),
});

/** Accepted beside the source, which extracts the value itself. */
export const dcgmExtractor: DataSourceDefinition = defineDataSource({
  type: 'dcgm-extractor',
  config: z.looseObject({}),
  start: () => ({ stop: () => undefined }),
});

function urlOf(
  { scheme, path, port, useNodeAddress }: DcgmConfig,
  { address, nodeAddress }: Endpoint,
): URL | undefined {
  if (!useNodeAddress) {
    const url = new URL(`${scheme}://${address}${path}`);
    url.port = String(port);
    return url;
  }
  if (nodeAddress === undefined) return undefined;
  const host = nodeAddress.includes(':') ? `[${nodeAddress}]` : nodeAddress;
  return new URL(`${scheme}://${host}:${port}${path}`);
}

/** The name of the endpoint's pod; its id is `namespace/name`, with a rank where it has several. */
function podOf({ id }: Endpoint): string {
  return id.slice(id.indexOf('/') + 1).replace(/-rank-\d+$/, '');
}

/** 0 to 1. Series without a pod belong to all. Throws where no series is the pod's. */
function utilizationIn(page: string, pod: string): number {
  let most: number | undefined;
  for (const [, labels = '', text = ''] of page.matchAll(SERIES)) {
    const of = POD.exec(labels)?.[1] ?? '';
    const percent = Number(text);
    if ((of !== '' && of !== pod) || !(percent >= 0 && percent <= 100)) continue;
    most = Math.max(most ?? 0, percent);
  }
  if (most === undefined) throw new Error(`no DCGM_FI_DEV_GPU_UTIL of pod ${pod} is there`);
  return most / 100;
}
