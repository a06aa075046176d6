import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';

/** The default policy behind a real Envoy, with more long prompts than two servers can begin. */

const binary = await envoyBinary();
const REQUESTS = 24;
const PROMPT_BYTES = 80_000;

describe.skipIf(binary === undefined)(
  'requests that wait for their endpoint, through Envoy',
  () => {
    let pool: StubPool;
    let stack: Stack;
    beforeAll(async () => {
      pool = await startStubPool(stubOptions.parse({ count: 2, port: 0, speed: 4, model: 'm' }));
      const endpoints = pool.endpoints.map(({ address }) => address);
      stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints });
    });
    afterAll(async () => {
      await stack?.stop();
      await pool?.stop();
    });

    const page = async (): Promise<string> =>
      (await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`)).text();
    const waiting = async (): Promise<number> =>
      Number(/^pointsman_waiting_requests (\d+)$/m.exec(await page())?.[1]);

    function complete(n: number, signal?: AbortSignal): Promise<Response> {
      const prompt = `${n} `.padEnd(PROMPT_BYTES, `no prompt is as number ${n}. `);
      const body = JSON.stringify({ model: 'm', prompt, max_tokens: 2, stream: true });
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body, ...(signal && { signal }) };
      return fetch(`${stack.url}/v1/completions`, init);
    }

    it('[Q17] are all answered, are counted while they wait, and leave when their client does', async () => {
      const leaving = new AbortController();
      const left = Promise.allSettled(
        Array.from({ length: 4 }, (_, n) => complete(1000 + n, leaving.signal)),
      );
      const answers = Promise.all(
        Array.from({ length: REQUESTS }, async (_, n) => {
          const response = await complete(n);
          return [response.status, (await response.text()).includes('[DONE]')];
        }),
      );
      await eventually(waiting, (count) => count > 0);
      leaving.abort();
      await left;
      expect(await answers).toEqual(Array.from({ length: REQUESTS }, () => [200, true]));
      await eventually(waiting, (count) => count === 0);
      await eventually(
        () => stack.inFlight(),
        (count) => count === 0,
      );
      const held = Number(/^pointsman_hold_duration_seconds_count (\d+)$/m.exec(await page())?.[1]);
      expect(held).toBeGreaterThan(0);
    });
  },
);
