import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import {
  type FakeServer,
  FakeServers,
  vllmPage,
} from '../../../test/support/servers/fake-servers.ts';
import { planFrom } from '../../catalogue/plan.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import {
  CONTEXT_WINDOW,
  CUSTOM_METRICS,
  GPU_UTILIZATION,
  MODELS,
} from '../../framework/endpoint-attributes.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { describeEndpoints } from './describe-endpoints.ts';

const SERVERS: Readonly<Record<string, Partial<FakeServer>>> = {
  good: { page: vllmPage(3) },
  refusing: { status: 503 },
  hanging: { dead: true },
  other: { page: '<html>' },
  lying: { page: vllmPage(3).replace('2.0', 'NaN') },
};

it('[V43] says of each endpoint how its scrapes go, since when, and what the last error was', async () => {
  const clock = new SimulatedClock({ epoch: Date.UTC(2030, 0, 1) });
  const network = new FakeServers(clock);
  const runtime = { clock, random: seededRandom(1), network };
  const picker = new EndpointPicker({ plan: planFrom('default'), runtime });
  for (const [name, server] of Object.entries(SERVERS)) {
    network.servers.set(`${name}:8000`, {
      delayMs: 0,
      dead: false,
      status: 200,
      page: '',
      ...server,
    });
    picker.pool.upsert({ id: name as EndpointId, address: `${name}:8000`, labels: new Map() });
  }
  const scrapes = (): unknown => {
    const parts = { picker, server: { sessions: () => 0 }, discovery: undefined };
    const page = describeEndpoints(parts, clock.now()) as {
      readonly endpoints: readonly { readonly id: string; readonly scrapes: object }[];
    };
    return Object.fromEntries(page.endpoints.map(({ id, scrapes: each }) => [id, each]));
  };
  expect(scrapes()).toMatchObject({ good: { state: 'not ended' } });
  await clock.run(1500);
  const failing = (since: string, failure: string, reason: unknown): object => ({
    state: 'failing',
    since: `2030-01-01T00:00:${since}Z`,
    lastError: { failure, reason },
  });
  expect(scrapes()).toMatchObject({
    good: { state: 'working', since: '2030-01-01T00:00:00.000Z' },
    refusing: failing('00.000', 'status', 'http://refusing:8000/metrics answered 503'),
    hanging: failing('01.000', 'unreachable', 'http://hanging:8000/metrics did not answer'),
    other: failing('00.000', 'no-series', expect.stringContaining('<html>')),
    lying: failing('00.000', 'bad-value', expect.stringContaining('num_requests_waiting is NaN')),
  });
  const refusing = network.servers.get('refusing:8000');
  if (refusing !== undefined) Object.assign(refusing, { status: 200, page: vllmPage(1) });
  await clock.run(3500);
  expect(scrapes()).toMatchObject({
    refusing: { state: 'working', lastError: { failure: 'status' } },
  });
  picker.stop();
});

/** Two endpoints as JSON shows them: one that has what `set` sets, and one that has nothing. */
function shownWith(set: (id: EndpointId, pool: EndpointPool) => void): readonly object[] {
  const clock = new SimulatedClock();
  const runtime = { clock, random: seededRandom(1), network: new FakeServers(clock) };
  const picker = new EndpointPicker({ plan: planFrom('default'), runtime });
  for (const id of ['known', 'other'] as EndpointId[]) {
    picker.pool.upsert({ id, address: `${id}:8000`, labels: new Map() });
  }
  set('known' as EndpointId, picker.pool);
  const parts = { picker, server: { sessions: () => 0 }, discovery: undefined };
  const shown = JSON.parse(JSON.stringify(describeEndpoints(parts, clock.now()))) as {
    readonly endpoints: readonly object[];
  };
  picker.stop();
  return shown.endpoints;
}

it('[O350] shows custom metrics and the utilization of GPUs of an endpoint that has them', () => {
  const [known, other] = shownWith((id, pool) => {
    pool.set(id, CUSTOM_METRICS, new Map([['queued-tokens', 7000]]));
    pool.set(id, GPU_UTILIZATION, 0.25);
  });
  expect(known).toMatchObject({
    customMetrics: { 'queued-tokens': 7000 },
    gpuUtilization: 0.25,
  });
  expect(other).not.toHaveProperty('customMetrics');
  expect(other).not.toHaveProperty('gpuUtilization');
});

it('[O415] shows the context window and the models of an endpoint that has them, at most 100 names of a kind', () => {
  const adapters = Array.from({ length: 250 }, (_, index) => `adapter-${index}`);
  const [known, other] = shownWith((id, pool) => {
    pool.set(id, CONTEXT_WINDOW, 32_768);
    pool.set(id, MODELS, [
      ...adapters.map((name) => ({ id: name, isAdapter: true })),
      { id: 'llama', isAdapter: false },
    ]);
  });
  expect(known).toMatchObject({
    contextWindowTokens: 32_768,
    models: {
      baseCount: 1,
      base: ['llama'],
      adapterCount: 250,
      adapters: adapters.slice(0, 100),
    },
  });
  expect(other).not.toHaveProperty('contextWindowTokens');
  expect(other).not.toHaveProperty('models');
});

it('[O529] says in words why an endpoint is ejected', () => {
  const clock = new SimulatedClock();
  const runtime = { clock, random: seededRandom(1), network: new FakeServers(clock) };
  const picker = new EndpointPicker({ plan: planFrom('round-robin'), runtime });
  picker.pool.upsert({ id: 'one' as EndpointId, address: 'one:8000', labels: new Map() });
  picker.ejector.ejected = () => ({ reason: 'silent', since: 0, until: 1000 });
  const parts = { picker, server: { sessions: () => 0 }, discovery: undefined };
  const { endpoints } = describeEndpoints(parts, clock.now()) as {
    readonly endpoints: readonly object[];
  };
  picker.stop();
  const why = 'it answered neither requests nor scrapes';
  expect(endpoints[0]).toMatchObject({ ejected: { reason: 'silent', why } });
});

it('[O404] says of each endpoint how many requests it has lost', () => {
  const clock = new SimulatedClock();
  const runtime = { clock, random: seededRandom(1), network: new FakeServers(clock) };
  const picker = new EndpointPicker({ plan: planFrom('round-robin'), runtime });
  const id = 'one' as EndpointId;
  picker.pool.upsert({ id, address: '10.0.0.1:8000', labels: new Map() });
  const lost = (): unknown => {
    const parts = { picker, server: { sessions: () => 0 }, discovery: undefined };
    const { endpoints } = describeEndpoints(parts, clock.now()) as {
      readonly endpoints: readonly { readonly lostRequests?: number }[];
    };
    return endpoints.map(({ lostRequests }) => lostRequests);
  };
  const send = (): RoutedRequest =>
    picker.route(makeRequest({ streaming: true }), { firstTokenVisible: true });
  send();
  expect(lost()).toEqual([undefined]);
  clock.advanceTo(10_000);
  send().firstToken();
  clock.advanceTo(11_000);
  send();
  expect(lost()).toEqual([1]);
  picker.stop();
});
