import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import { envoyBinary, eventually, serveOptions, startEnvoyFor } from '../../bench/support/stack.ts';
import type { EnvoyConfigOptions } from '../../src/lab/envoy/render-config.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import { freePort } from '../scenarios/processes.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

const binary = await envoyBinary();
const WIRINGS: readonly EnvoyConfigOptions['wiring'][] = [
  'envoy',
  'envoy-efficient',
  'envoy-fallbacks',
];
const PICKER = ['static_resources', 'clusters', 1];
/** Nobody listens there, as where a picker was killed. */
const DEAD_PORT = 1;
/** Beyond what Envoy keeps of a stream to give it to another picker. */
const LARGE_BYTES = 100_000;
/** `consecutive_local_origin_failure` of the shipped configurations. */
const LOST_MAX = 3;

/** The time before a health check has found out, made endless. */
function withoutHealthChecks(config: Document): void {
  config.deleteIn([...PICKER, 'health_checks']);
}

function withDeadPicker(config: Document): void {
  withoutHealthChecks(config);
  const address = { socket_address: { address: '127.0.0.1', port_value: DEAD_PORT } };
  const endpoints = [...PICKER, 'load_assignment', 'endpoints', 0, 'lb_endpoints'];
  config.addIn(endpoints, config.createNode({ endpoint: { address } }));
}

/** The status of each of so many requests, one after the other. */
async function statuses(url: string, count: number, promptBytes: number): Promise<number[]> {
  const body = JSON.stringify({ model: 'm', prompt: 'x'.repeat(promptBytes) });
  const headers = { 'content-type': 'application/json' };
  const found: number[] = [];
  for (let n = 0; n < count; n++) {
    const answer = await fetch(`${url}/v1/completions`, { method: 'POST', body, headers });
    await answer.arrayBuffer();
    found.push(answer.status);
  }
  return found;
}

const failures = (found: readonly number[]): number => found.filter((each) => each !== 200).length;

describe.skipIf(binary === undefined).each(WIRINGS)(
  'a picker that has died, behind %s.yaml',
  (envoy) => {
    let upstream: Upstream;
    let serving: Serving;
    beforeAll(async () => {
      upstream = await startUpstream();
      serving = await startServe(serveOptions({ endpoints: [upstream.address] }));
    });
    afterAll(async () => {
      await serving?.stop();
      await upstream?.stop();
    });

    /** Requests get on where the cluster's endpoints are listed, as for fallbacks. */
    const withServer = (config: Document): void => {
      if (envoy !== 'envoy-fallbacks') return;
      const [address, port] = upstream.address.split(':');
      const socket_address = { address, port_value: Number(port) };
      const path = ['static_resources', 'clusters', 0, 'load_assignment', 'endpoints'];
      const endpoints = [{ lb_endpoints: [{ endpoint: { address: { socket_address } } }] }];
      config.setIn(path, config.createNode(endpoints));
    };
    const started = (edit: (config: Document) => void, port: number) =>
      startEnvoyFor(
        binary ?? '',
        {
          envoy,
          endpoints: [],
          edit: (config) => {
            withServer(config);
            edit(config);
          },
        },
        port,
      );

    it('[V230] costs no small request, even while it is not left out', async () => {
      const gateway = await started((config) => {
        withDeadPicker(config);
        config.deleteIn([...PICKER, 'outlier_detection']);
      }, serving.extProcPort);
      expect(failures(await statuses(gateway.url, 300, 10))).toBe(0);
      await gateway.stop();
    });

    it('[V230] is left out after three large requests that it has cost', async () => {
      const gateway = await started(withDeadPicker, serving.extProcPort);
      for (let lost = 0; lost < LOST_MAX; )
        lost += failures(await statuses(gateway.url, 1, LARGE_BYTES));
      // Envoy's worker learns from its main thread, which a busy machine may delay.
      await eventually(
        async () => failures(await statuses(gateway.url, 30, LARGE_BYTES)),
        (lost) => lost === 0,
        40,
      );
      await gateway.stop();
    });

    it('[V230] is asked on where it is the last one, so that it serves as soon as it is back', async () => {
      const port = await freePort();
      const gateway = await started(withoutHealthChecks, port);
      expect(failures(await statuses(gateway.url, 10, LARGE_BYTES))).toBe(10);
      const back = await startServe(
        serveOptions({ endpoints: [upstream.address], extProcPort: port }),
      );
      expect(failures(await statuses(gateway.url, 10, LARGE_BYTES))).toBe(0);
      await gateway.stop();
      await back.stop();
    });
  },
);
