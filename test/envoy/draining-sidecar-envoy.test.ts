import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import { type Sidecar, startSidecar } from '../../src/sidecar/start-sidecar.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { setKnownEndpoints } from '../support/known-endpoints.ts';
import { gatewayBefore } from '../support/servers/gateway-before.ts';
import { sidecarOptions } from '../support/sidecar/sidecar-options.ts';

/**
 * A picker whose endpoints are listed does not learn that a sidecar drains: its requests come until
 * the port is closed, and are refused from then on until the next sidecar serves.
 */

const binary = await envoyBinary();
const SERVERS = 3;
const AT_ONCE = 6;
const plan = loadConfig({
  source: 'test',
  catalogue: SERVING_CATALOGUE,
  text: `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: round-robin-scorer
  - type: max-score-picker
    parameters: { maxNumOfEndpoints: 3 }
`,
});

describe.skipIf(binary === undefined)('a sidecar of a listed endpoint that is restarted', () => {
  let pool: StubPool;
  let stack: Stack;
  const sidecars: Sidecar[] = [];
  const stops: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    const options = { count: SERVERS, port: 0, speed: 10, model: 'm' };
    pool = await startStubPool(stubOptions.parse(options));
    for (const { address } of pool.endpoints) {
      sidecars.push(await startSidecar(sidecarOptions({ engine: address })));
    }
    const endpoints = sidecars.map(({ address }) => address);
    stack = await startStack(binary ?? '', {
      envoy: 'envoy-fallbacks',
      endpoints,
      serve: { plan },
      edit: (document) => setKnownEndpoints(document, endpoints),
    });
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    await stack.stop();
    for (const sidecar of sidecars.splice(0)) await sidecar.stop();
    await pool.stop();
  });

  const complete = async (url: string): Promise<number> => {
    const body = JSON.stringify({ model: 'm', prompt: 'hello', max_tokens: 2, stream: true });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/completions`, { method: 'POST', headers, body });
    await response.text();
    return response.status;
  };

  async function embeddedGateway(): Promise<string> {
    const gateway = await gatewayBefore(stack.serving.extProcPort);
    stops.push(() => gateway.stop());
    return `http://127.0.0.1:${gateway.port}`;
  }

  it.each(['Envoy with fallbacks', 'the embedded gateway'])(
    '[V524] loses no request behind %s, while it drains, while its port is closed and after it',
    async (behind) => {
      const url = behind === 'the embedded gateway' ? await embeddedGateway() : stack.url;
      const statuses: number[] = [];
      const some = async (): Promise<void> => {
        statuses.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => complete(url)))));
      };
      const [first, , last] = sidecars;
      if (first === undefined || last === undefined) throw new Error('no sidecar has started');
      await some();
      let isOver = false;
      const drained = first
        .drain({ drainNoticeMs: 300, drainTimeoutMs: 60_000 })
        .then(() => (isOver = true));
      while (!isOver) await some();
      await drained;
      for (let round = 0; round < 5; round++) await some();
      const port = Number(first.address.split(':')[1]);
      const engine = pool.endpoints[0]?.address ?? '';
      sidecars[0] = await startSidecar(sidecarOptions({ engine, port }));
      for (let round = 0; round < 5; round++) await some();
      expect(new Set(statuses)).toEqual(new Set([200]));
      await eventually(stack.inFlight, (count) => count === 0);
    },
  );
});
