import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Document, isSeq, parse } from 'yaml';
import { z } from 'zod';
import { envoyBinary, eventually, startEnvoyFor } from '../../bench/support/stack.ts';
import { type ChildCommand, startChildCommand } from '../../src/lab/demo/child-command.ts';
import { CONNECTION_MANAGER, type EnvoyConfigOptions } from '../../src/lab/envoy/render-config.ts';
import { codeBlock } from '../docs/doc-code.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

const binary = await envoyBinary();
const WIRINGS: readonly EnvoyConfigOptions['wiring'][] = ['envoy', 'envoy-efficient'];
const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] });

interface PickerProcess {
  readonly port: number;
  /** Kills it like the kernel does when memory is short. */
  kill(): void;
  readonly child: ChildCommand;
}

async function startPicker(endpoint: string, port = 0): Promise<PickerProcess> {
  const ports = ['--host', '127.0.0.1', '--extproc-port', String(port), '--metrics-port', '0'];
  const rest = ['--drain-notice-ms', '0', '--log-level', 'silent', '--endpoints', endpoint];
  const flags = ['--insecure', '--json', ...rest];
  const child = await startChildCommand(['serve', ...ports, ...flags]);
  const { extProcPort } = z.object({ extProcPort: z.int() }).parse(child.document);
  return { port: extProcPort, child, kill: () => process.kill(child.pid, 'SIGKILL') };
}

function post(url: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', body: BODY, headers });
}

/**
 * Withholds the next answer: `arrived` resolves when the request is there, `release` sends the
 * answer.
 */
function holdAnswer(upstream: Upstream): { readonly arrived: Promise<void>; release(): void } {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  upstream.answer(async (_received, response) => {
    arrived.resolve();
    await released.promise;
    response.end('{"ok":true}');
  });
  return { arrived: arrived.promise, release: () => released.resolve() };
}

/**
 * Fails open as deploy/envoy.yaml describes: without a destination a second route leads to known
 * endpoints.
 */
function withFallbackRoute(fallback: string): (config: Document) => void {
  const [address, port] = fallback.split(':');
  return (config) => {
    const routes = config.getIn([
      ...CONNECTION_MANAGER,
      'route_config',
      'virtual_hosts',
      0,
      'routes',
    ]);
    const clusters = config.getIn(['static_resources', 'clusters']);
    if (!isSeq(routes) || !isSeq(clusters)) throw new Error('no list of routes or clusters');
    const picked = [{ name: 'x-gateway-destination-endpoint', present_match: true }];
    config.setIn(
      [...CONNECTION_MANAGER, 'route_config', 'virtual_hosts', 0, 'routes', 0, 'match', 'headers'],
      picked,
    );
    routes.add(config.createNode({ match: { prefix: '/' }, route: { cluster: 'fallback' } }));
    const socket_address = { address, port_value: Number(port) };
    const endpoints = [{ lb_endpoints: [{ endpoint: { address: { socket_address } } }] }];
    const load_assignment = { cluster_name: 'fallback', endpoints };
    clusters.add(config.createNode({ name: 'fallback', type: 'STATIC', load_assignment }));
  };
}

/** As docs/troubleshooting.md has the route. */
function withoutPicker(servers: string): (config: Document) => void {
  const [address, port] = servers.split(':');
  const code = codeBlock('docs/troubleshooting.md', 'yaml', 'ExtProcPerRoute');
  return (config) => {
    const routes = [...CONNECTION_MANAGER, 'route_config', 'virtual_hosts', 0, 'routes'];
    config.setIn(routes, [{ match: { prefix: '/' }, ...(parse(code) as object) }]);
    const clusters = config.getIn(['static_resources', 'clusters']);
    if (!isSeq(clusters)) throw new Error('no list of clusters');
    const socket_address = { address, port_value: Number(port) };
    const endpoints = [{ lb_endpoints: [{ endpoint: { address: { socket_address } } }] }];
    const load_assignment = { cluster_name: 'model_servers', endpoints };
    clusters.add(
      config.createNode({
        name: 'model_servers',
        type: 'STRICT_DNS',
        lb_policy: 'LEAST_REQUEST',
        load_assignment,
      }),
    );
  };
}

describe.skipIf(binary === undefined).each(WIRINGS)('%s.yaml without a picker', (wiring) => {
  it('[O376] serves by the route that docs/troubleshooting.md shows', async () => {
    const upstream = await startUpstream();
    const edit = withoutPicker(upstream.address);
    const options = { envoy: wiring, endpoints: [], failureModeAllow: false, edit };
    // Nothing listens at the picker's port.
    const envoy = await startEnvoyFor(binary ?? '', options, 9);
    expect((await post(envoy.url)).status).toBe(200);
    expect(upstream.received).toHaveLength(1);
    await envoy.stop();
    await upstream.stop();
  });
});

describe.skipIf(binary === undefined).each(WIRINGS)('a picker killed behind %s.yaml', (wiring) => {
  let upstream: Upstream;
  let fallback: Upstream;
  let picker: PickerProcess;

  beforeEach(async () => {
    upstream = await startUpstream();
    fallback = await startUpstream();
    picker = await startPicker(upstream.address);
  });
  afterEach(async () => {
    await picker.child.stop();
    await upstream.stop();
    await fallback.stop();
  });

  it('fails its requests in flight and later ones with 503, and serves again after a restart', async () => {
    const options = { envoy: wiring, endpoints: [], failureModeAllow: false };
    const envoy = await startEnvoyFor(binary ?? '', options, picker.port);
    const held = holdAnswer(upstream);
    const pending = post(envoy.url);
    await held.arrived;
    picker.kill();
    expect((await pending).status).toBe(503);
    expect((await post(envoy.url)).status).toBe(503);
    expect(upstream.received).toHaveLength(1);

    held.release();
    upstream.answer((_received, response) => void response.end('{"ok":true}'));
    picker = await startPicker(upstream.address, picker.port);
    await eventually(
      async () => (await post(envoy.url)).status,
      (status) => status === 200,
    );
    for (let n = 0; n < 20; n++) expect((await post(envoy.url)).status).toBe(200);
    await envoy.stop();
  });

  it('leaves later requests to the fallback if it may fail open, and serves again after a restart', async () => {
    const edit = withFallbackRoute(fallback.address);
    const options = { envoy: wiring, endpoints: [], failureModeAllow: true, edit };
    const envoy = await startEnvoyFor(binary ?? '', options, picker.port);
    const held = holdAnswer(upstream);
    const pending = post(envoy.url);
    await held.arrived;
    picker.kill();
    held.release();
    const answered = await pending;
    // In full duplex Envoy has no copy to continue with; otherwise it passes the answer without the
    // picker.
    expect(answered.status).toBe(wiring === 'envoy' ? 503 : 200);
    expect(await answered.text()).toBe(wiring === 'envoy' ? '' : '{"ok":true}');
    // In full duplex only after the health check has failed.
    await eventually(
      async () => (await post(envoy.url)).status,
      (status) => status === 200,
    );
    expect([upstream.received.length, fallback.received.length]).toEqual([1, 1]);

    picker = await startPicker(upstream.address, picker.port);
    await eventually(
      async () => {
        await post(envoy.url);
        return upstream.received.length;
      },
      (received) => received > 1,
    );
    await envoy.stop();
  });
});
