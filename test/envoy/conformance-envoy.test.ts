import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { CONNECTION_MANAGER } from '../../src/lab/envoy/render-config.ts';
import { endpointsAt } from '../support/known-endpoints.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';
import { withSubsetFilter } from '../support/subset-filter.ts';

/**
 * The requirements of the Gateway API inference extension's suite for its picker, through a real
 * Envoy over TLS.
 */

const binary = await envoyBinary();
const config = join(import.meta.dirname, '../../deploy/conformance.yaml');
const SELECTION = 'test-epp-endpoint-selection';
const SERVED = 'x-conformance-test-served-endpoint';
const REQUESTS = 100;
const CONCURRENT = 10;

/**
 * A cluster that knows its endpoints, uses the picked one and, if configured, reports which one it
 * used.
 */
function withKnownEndpoints(
  endpoints: readonly string[],
  reports: boolean,
): (config: Document) => void {
  const type = 'type.googleapis.com/envoy.extensions.load_balancing_policies';
  const lb_endpoints = endpointsAt(endpoints);
  const roundRobin = {
    name: 'round_robin',
    typed_config: { '@type': `${type}.round_robin.v3.RoundRobin` },
  };
  const served = { key: 'envoy.lb', path: [{ key: 'x-gateway-destination-endpoint-served' }] };
  const overrideHost = {
    name: 'envoy.load_balancing_policies.override_host',
    typed_config: {
      '@type': `${type}.override_host.v3.OverrideHost`,
      override_host_sources: [{ header: 'x-gateway-destination-endpoint' }],
      fallback_policy: { policies: [{ typed_extension_config: roundRobin }] },
      ...(reports && { selected_host_key: served }),
    },
  };
  const cluster = {
    name: 'picked_endpoint',
    type: 'STATIC',
    load_balancing_policy: { policies: [{ typed_extension_config: overrideHost }] },
    load_assignment: { cluster_name: 'picked_endpoint', endpoints: [{ lb_endpoints }] },
  };
  return (document) => {
    document.setIn(['static_resources', 'clusters', 0], document.createNode(cluster));
  };
}

function post(url: string, selection?: string, subset?: string): Promise<Response> {
  return fetch(`${url}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', prompt: 'where to?' }),
    headers: {
      'content-type': 'application/json',
      ...(selection !== undefined && { [SELECTION]: selection }),
      ...(subset !== undefined && { 'x-test-subset': subset }),
    },
  });
}

describe.skipIf(binary === undefined)('in place of the conformance suite’s picker', () => {
  let upstreams: readonly Upstream[];
  let addresses: readonly string[];
  let stack: Stack;

  beforeAll(async () => {
    upstreams = await Promise.all([startUpstream(), startUpstream(), startUpstream()]);
    addresses = upstreams.map(({ address }) => address);
    stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: addresses,
      config,
      serve: { insecure: false },
      edit: (document) => {
        withKnownEndpoints(addresses, true)(document);
        withSubsetFilter(document);
      },
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await Promise.all((upstreams ?? []).map((upstream) => upstream.stop()));
  });

  /** How many more requests each server got. */
  async function served(send: () => Promise<unknown>): Promise<readonly number[]> {
    const before = upstreams.map(({ received }) => received.length);
    await send();
    return upstreams.map(({ received }, index) => received.length - (before[index] ?? 0));
  }

  async function sendMany(one: () => Promise<Response>): Promise<void> {
    const sender = async (): Promise<void> => {
      for (let n = 0; n < REQUESTS / CONCURRENT; n++) {
        const response = await one();
        await response.text();
        expect(response.status).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT }, sender));
  }

  it.each([1, 2, 3])(
    'keeps 100 requests, 10 at a time, to the %d servers that test-epp-endpoint-selection names',
    async (count) => {
      const named = addresses.slice(0, count).join(', ');
      const counts = await served(() => sendMany(() => post(stack.url, named)));
      expect(counts.slice(count)).toEqual(Array(3 - count).fill(0));
      expect(counts.slice(0, count).every((number) => number > 0)).toBe(true);
      expect(counts.reduce((sum, number) => sum + number, 0)).toBe(REQUESTS);
    },
  );

  it('allows all ports of an address without a port, and all servers without the header', async () => {
    for (const selection of ['127.0.0.1', undefined]) {
      const counts = await served(() => sendMany(() => post(stack.url, selection)));
      expect(counts.every((number) => number > 0)).toBe(true);
    }
  });

  it('refuses a request that names no server of the pool, and serves the next one', async () => {
    const counts = await served(async () => {
      expect((await post(stack.url, '10.9.9.9:1')).status).toBe(429);
    });
    expect(counts).toEqual([0, 0, 0]);
    expect((await post(stack.url)).status).toBe(200);
  });

  it.each([
    ['one server', (all: readonly string[]) => all[1], [1]],
    ['two servers', (all: readonly string[]) => `${all[0]}, ${all[2]}`, [0, 2]],
    ['an address alone', () => '127.0.0.1', [0, 1, 2]],
    ['some that are no servers', (all: readonly string[]) => `10.9.9.9:1,nonsense,,${all[2]}`, [2]],
    ['none, where the proxy says nothing', () => undefined, [0, 1, 2]],
  ])('keeps to a subset hint of %s', async (_what, hint, wanted) => {
    const subset = hint(addresses);
    const send = (): Promise<Response> => post(stack.url, undefined, subset);
    const counts = await served(() => sendMany(send));
    expect(counts.flatMap((count, index) => (count > 0 ? [index] : []))).toEqual(wanted);
  });

  it.each([
    ['names no server', '10.9.9.9:1'],
    ['names a server’s address with another port', '127.0.0.1:1'],
    ['names nothing', ' , '],
  ])('answers 503 to a subset hint that %s', async (_what, subset) => {
    const counts = await served(async () => {
      const response = await post(stack.url, undefined, subset);
      expect(response.status).toBe(503);
      expect(response.headers.get('x-llm-d-request-dropped-reason')).toBe('rejected-no-endpoints');
    });
    expect(counts).toEqual([0, 0, 0]);
  });

  it('refuses a request if the subset and the test header allow no common server', async () => {
    expect((await post(stack.url, addresses[0], addresses[1])).status).toBe(429);
    expect((await post(stack.url, addresses[0], addresses[0])).status).toBe(200);
  });

  it('gives the client the address of the server that Envoy reports', async () => {
    for (const address of addresses) {
      const response = await post(stack.url, address);
      expect(response.headers.get(SERVED)).toBe(address);
    }
  });

  it('reports that Envoy names no server, and does not name the pick instead', async () => {
    const silent = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: addresses,
      config,
      edit: withKnownEndpoints(addresses, false),
    });
    const response = await post(silent.url, addresses[0]);
    await silent.stop();
    expect(response.headers.get(SERVED)).toMatch(/^fail: /);
  });

  it('learns from Envoy that a fallback served, and counts the request in flight there', async () => {
    const dead = await startUpstream();
    await dead.stop();
    const live = await startUpstream();
    const both = [dead.address, live.address];
    const routes = [...CONNECTION_MANAGER, 'route_config', 'virtual_hosts', 0, 'routes'];
    const retries = { retry_on: 'reset,connect-failure', num_retries: 1 };
    const falling = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: both,
      config: join(import.meta.dirname, '../fixtures/two-destinations-served.yaml'),
      edit: (document) => {
        withKnownEndpoints(both, true)(document);
        document.setIn([...routes, 0, 'route', 'retry_policy'], document.createNode(retries));
      },
    });
    let wasFallback = false;
    for (let n = 0; n < 50 && !wasFallback; n++) {
      const ended = Promise.withResolvers<void>();
      live.answer(async (_received, response) => {
        // Headers and one piece, so that the picker sees the answer before its end.
        response.write('{');
        await ended.promise;
        response.end('}');
      });
      const response = await post(falling.url);
      expect(response.headers.get(SERVED)).toBe(live.address);
      const first = String(live.received.at(-1)?.headers['x-gateway-destination-endpoint']);
      wasFallback = first.startsWith(dead.address);
      const inFlight = await inFlightBy(falling.serving.metricsPort);
      expect([inFlight.get(dead.address), inFlight.get(live.address)]).toEqual([0, 1]);
      ended.resolve();
      await response.text();
      await eventually(falling.inFlight, (count) => count === 0);
    }
    expect(wasFallback).toBe(true);
    await falling.stop();
    await live.stop();
  });
});

/** Requests in flight, by address. */
async function inFlightBy(metricsPort: number): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/debug/endpoints`);
  const { endpoints } = (await response.json()) as {
    readonly endpoints: readonly {
      readonly address: string;
      readonly inFlight: { readonly requests: number };
    }[];
  };
  return new Map(endpoints.map(({ address, inFlight }) => [address, inFlight.requests]));
}
