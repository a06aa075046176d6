import { describe, expect, test } from 'vitest';
import { load } from '../../../test/support/load-text.ts';
import { vllmPage } from '../../../test/support/servers/fake-servers.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import {
  CLUSTER_QUEUE_SIZE,
  CONTEXT_WINDOW,
  CUSTOM_METRICS,
  GPU_UTILIZATION,
  MODELS,
} from '../../framework/endpoint-attributes.ts';
import type { HttpResponse } from '../../framework/runtime.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';

const SEED = 7;
const ID = 'a:1' as EndpointId;

/** A kind of source whose page says one number, and what an endpoint then has of it. */
interface Kind {
  readonly type: string;
  readonly extractor: string;
  readonly page: (value: number) => string;
  readonly valueOf: (endpoint: Endpoint) => number | undefined;
}

const KINDS: readonly Kind[] = [
  {
    type: 'dcgm-data-source',
    extractor: 'dcgm-extractor',
    page: (value) => `DCGM_FI_DEV_GPU_UTIL{gpu="0"} ${value}\n`,
    valueOf: (endpoint) => {
      const share = endpoint.attribute(GPU_UTILIZATION);
      return share === undefined ? undefined : share * 100;
    },
  },
  {
    type: 'models-data-source',
    extractor: 'models-data-extractor',
    page: (value) => `{"data":[{"id":"m","created":${value},"max_model_len":${value}}]}`,
    valueOf: (endpoint) => {
      const [model] = endpoint.attribute(MODELS) ?? [];
      expect(endpoint.attribute(CONTEXT_WINDOW)).toBe(model?.created);
      return model?.created;
    },
  },
  {
    type: 'metrics-data-source',
    extractor: 'core-metrics-extractor',
    page: vllmPage,
    valueOf: ({ metrics }) => metrics.runningRequests,
  },
  {
    type: 'multicluster-metrics-data-source',
    extractor: 'multicluster-metrics-extractor',
    page: (value) => `llm_d_epp_average_queue_size{name="pool"} ${value}\n`,
    valueOf: (endpoint) => {
      const queue = endpoint.attribute(CUSTOM_METRICS).get(CLUSTER_QUEUE_SIZE);
      expect(endpoint.metrics.waitingQueueSize).toBe(queue);
      return queue;
    },
  },
];

/** The picker of one endpoint, with a source for each path, in this order. */
function setUp({ type, extractor, page, valueOf }: Kind, ...paths: readonly string[]) {
  const clock = new SimulatedClock();
  const pages = new Map<string, number>();
  const planOf = (...order: readonly string[]): PickerPlan => {
    const name = (path: string): string => path.slice(1, 2);
    const plugins = order.map((path) => ({ type, name: name(path), parameters: { path } }));
    const sources = plugins.map((each) => ({
      pluginRef: each.name,
      extractors: [{ pluginRef: extractor }],
    }));
    const all = [{ type: extractor }, ...plugins];
    const dataLayer = { injectDefaults: false, sources };
    return load(JSON.stringify({ plugins: all, dataLayer }), '');
  };
  const get = ({ pathname, port }: URL): Promise<HttpResponse> =>
    new Promise((resolve) => {
      const value = pages.get(pathname);
      const answer = { status: value === undefined ? 404 : 200, body: page(value ?? 0) };
      // Each asks at times of its own; the port is that of the endpoint, or of an exporter.
      expect(['1', '9400']).toContain(port);
      clock.setTimer(1, () => resolve({ ...answer, body: Buffer.from(answer.body) }));
    });
  const runtime = { clock, random: seededRandom(SEED), network: { get } };
  const picker = new EndpointPicker({ plan: planOf(...paths), runtime });
  const add = (): void => picker.pool.upsert({ id: ID, address: ID, labels: new Map() });
  add();
  const value = (): number | undefined => {
    const endpoint = picker.pool.get(ID);
    return endpoint && valueOf(endpoint);
  };
  return { clock, pages, picker, planOf, add, value };
}

describe.each(KINDS)('[D560] [D554] of two sources of type $type', (kind) => {
  test('the first in plugins counts, whichever is read last, and the other while it fails', async () => {
    const { clock, pages, value } = setUp(kind, '/a', '/b');
    pages.set('/b', 20);
    await clock.run(3000);
    expect(value()).toBe(20);
    pages.set('/a', 30);
    await clock.run(20_000);
    for (let at = 20_100; at <= 24_000; at += 100) {
      await clock.run(at);
      expect(value()).toBe(30);
    }
    pages.delete('/a');
    await clock.run(30_000);
    expect(value()).toBe(20);
    pages.set('/a', 30);
    await clock.run(60_000);
    expect(value()).toBe(30);
  });

  test('each keeps its order when one starts again with other parameters', async () => {
    const { clock, pages, picker, planOf, value } = setUp(kind, '/a', '/b');
    for (const [path, of] of Object.entries({ '/a': 10, '/a2': 11, '/b': 20 })) pages.set(path, of);
    await clock.run(5000);
    expect(value()).toBe(10);
    picker.adopt(planOf('/a2', '/b'));
    await clock.run(10_000);
    expect(value()).toBe(11);
  });

  test('the order may change, and one that comes first later counts first', async () => {
    const { clock, pages, picker, planOf, value } = setUp(kind, '/b', '/c');
    for (const [path, of] of Object.entries({ '/a': 10, '/b': 20, '/c': 30 })) pages.set(path, of);
    await clock.run(5000);
    expect(value()).toBe(20);
    picker.adopt(planOf('/a', '/b', '/c'));
    await clock.run(10_000);
    expect(value()).toBe(10);
    picker.adopt(planOf('/c', '/b'));
    await clock.run(15_000);
    expect(value()).toBe(30);
    picker.adopt(planOf('/b'));
    await clock.run(20_000);
    expect(value()).toBe(20);
  });

  test('nothing is left of an endpoint that comes again', async () => {
    const { clock, pages, picker, add, value } = setUp(kind, '/a', '/b');
    for (const [path, of] of Object.entries({ '/a': 10, '/b': 20 })) pages.set(path, of);
    await clock.run(5000);
    picker.pool.remove(ID);
    pages.delete('/a');
    add();
    await clock.run(10_000);
    expect(value()).toBe(20);
    pages.set('/b', 21);
    await clock.run(15_000);
    expect(value()).toBe(21);
  });
});
