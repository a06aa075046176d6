import { describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import {
  envoyBinary,
  eventually,
  type Stack,
  type StackOptions,
  showBeginnings,
  startStack,
} from '../../bench/support/stack.ts';
import { CONNECTION_MANAGER } from '../../src/lab/envoy/render-config.ts';
import { chat, postChat } from '../support/servers/chat-request.ts';
import { sha256, startUpstream, type Upstream } from '../support/servers/upstream.ts';

const binary = await envoyBinary();

/**
 * Fallbacks as deploy/envoy.yaml describes them: a cluster that knows its endpoints and tries the
 * named ones in order.
 */
function withOverrideHost(config: Document, upstreams: readonly Upstream[]): void {
  const type = 'type.googleapis.com/envoy.extensions.load_balancing_policies';
  const lb_endpoints = upstreams.map(({ address: text }) => {
    const [address, port] = text.split(':');
    return { endpoint: { address: { socket_address: { address, port_value: Number(port) } } } };
  });
  const roundRobin = {
    name: 'round_robin',
    typed_config: { '@type': `${type}.round_robin.v3.RoundRobin` },
  };
  const overrideHost = {
    name: 'envoy.load_balancing_policies.override_host',
    typed_config: {
      '@type': `${type}.override_host.v3.OverrideHost`,
      override_host_sources: [{ header: 'x-gateway-destination-endpoint' }],
      fallback_policy: { policies: [{ typed_extension_config: roundRobin }] },
    },
  };
  const cluster = {
    name: 'picked_endpoint',
    type: 'STATIC',
    load_balancing_policy: { policies: [{ typed_extension_config: overrideHost }] },
    load_assignment: { cluster_name: 'picked_endpoint', endpoints: [{ lb_endpoints }] },
  };
  config.setIn(['static_resources', 'clusters', 0], config.createNode(cluster));
  const routes = [...CONNECTION_MANAGER, 'route_config', 'virtual_hosts', 0, 'routes'];
  const retries = { retry_on: 'reset,connect-failure', num_retries: 1 };
  config.setIn([...routes, 0, 'route', 'retry_policy'], config.createNode(retries));
}

describe.skipIf(binary === undefined)('a picker with other wirings', () => {
  const EXT_PROC = [...CONNECTION_MANAGER, 'http_filters', 0, 'typed_config'];

  async function withPool(
    count: number,
    use: (upstreams: readonly Upstream[]) => Promise<void>,
  ): Promise<void> {
    const upstreams = await Promise.all(Array.from({ length: count }, () => startUpstream()));
    try {
      await use(upstreams);
    } finally {
      await Promise.all(upstreams.map((upstream) => upstream.stop()));
    }
  }

  async function withStack(
    options: Omit<StackOptions, 'endpoints'>,
    count: number,
    use: (stack: Stack, upstreams: readonly Upstream[]) => Promise<void>,
  ): Promise<void> {
    await withPool(count, async (upstreams) => {
      const endpoints = upstreams.map(({ address }) => address);
      const stack = await startStack(binary ?? '', { ...options, endpoints });
      try {
        await use(stack, upstreams);
      } finally {
        await stack.stop();
      }
    });
  }

  it('reads a BUFFERED request body while it does not get the response body', async () => {
    const edit = (config: Document): void => {
      config.setIn([...EXT_PROC, 'processing_mode', 'request_body_mode'], 'BUFFERED');
      config.deleteIn([...EXT_PROC, 'send_body_without_waiting_for_header_response']);
    };
    await withStack({ envoy: 'envoy-efficient', edit }, 1, async (stack, [upstream]) => {
      const body = chat('y'.repeat(500_000));
      expect((await postChat(stack.url, body)).status).toBe(200);
      expect(upstream?.received.at(-1)?.bodySha256).toBe(sha256(body));
      await eventually(stack.inFlight, (count) => count === 0);
    });
  });

  it('picks before the proxy’s buffer is full, so that large bodies never stall', async () => {
    const edit = (config: Document): void => {
      config.setIn(
        ['static_resources', 'listeners', 0, 'per_connection_buffer_limit_bytes'],
        256 * 1024,
      );
    };
    await withStack({ envoy: 'envoy-efficient', edit }, 1, async (stack, [upstream]) => {
      const body = chat('z'.repeat(8_000_000));
      expect((await postChat(stack.url, body)).status).toBe(200);
      expect(upstream?.received.at(-1)?.bodySha256).toBe(sha256(body));
    });
  });

  it('[B245] sends large bodies whole where it shows the picker only their beginning', async () => {
    const options = { envoy: 'envoy-efficient', edit: showBeginnings } as const;
    await withStack(options, 1, async (stack, [upstream]) => {
      for (const bytes of [10, 60_000, 70_000, 400_000, 8_000_000]) {
        const body = chat('z'.repeat(bytes));
        expect((await postChat(stack.url, body)).status).toBe(200);
        expect(upstream?.received.at(-1)?.bodySha256).toBe(sha256(body));
      }
      await eventually(stack.inFlight, (count) => count === 0);
    });
  });

  it('names fallbacks after its first choice, which a capable proxy tries in order', async () => {
    const config = 'test/fixtures/two-destinations.yaml';
    await withPool(2, async (upstreams) => {
      const edit = (envoy: Document): void => withOverrideHost(envoy, upstreams);
      const [broken, sound] = upstreams;
      broken?.answer((_received, response) => void response.destroy());
      const stack = await startStack(binary ?? '', {
        envoy: 'envoy',
        config,
        edit,
        endpoints: upstreams.map(({ address }) => address),
      });
      for (let n = 0; n < 12; n++)
        expect((await postChat(stack.url, chat(`${n}`))).status).toBe(200);
      expect(sound?.received).toHaveLength(12);
      for (const { headers } of sound?.received ?? []) {
        const named = String(headers['x-gateway-destination-endpoint']).split(',');
        expect(new Set(named)).toEqual(new Set(upstreams.map(({ address }) => address)));
      }
      expect(broken?.received.length).toBeGreaterThan(0);
      await stack.stop();
    });
  });

  it('spreads requests over the pool', async () => {
    await withStack({ envoy: 'envoy', config: 'round-robin' }, 3, async (stack, upstreams) => {
      for (let n = 0; n < 30; n++)
        expect((await postChat(stack.url, chat(`${n}`))).status).toBe(200);
      expect(upstreams.map(({ received }) => received.length)).toEqual([10, 10, 10]);
    });
  });
});
