import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';

/** One of four servers fails in each way behind a real Envoy, and works again. */

const binary = await envoyBinary();
const SERVERS = 4;
const CLIENTS = 8;

interface Described {
  readonly address: string;
  readonly ejected: false | { readonly reason: string; readonly since: string };
}

describe.skipIf(binary === undefined)('an endpoint that fails behind Envoy', () => {
  let pool: StubPool;
  let stack: Stack;
  let over = false;
  let clients: Promise<unknown>;

  beforeAll(async () => {
    const options = { count: SERVERS, port: 0, speed: 10, model: 'm' };
    pool = await startStubPool(stubOptions.parse(options));
    const endpoints = pool.endpoints.map(({ address }) => address);
    stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints, config: 'round-robin' });
    clients = Promise.all(Array.from({ length: CLIENTS }, client));
  });
  afterAll(async () => {
    over = true;
    await clients;
    await stack?.stop();
    await pool?.stop();
  });

  async function client(): Promise<void> {
    for (let sent = 0; sent < 100_000 && !over; sent++) {
      const body = JSON.stringify({
        model: 'm',
        prompt: `number ${sent}`,
        max_tokens: 2,
        stream: true,
      });
      const headers = { 'content-type': 'application/json' };
      const url = `${stack.url}/v1/completions`;
      // A request to a server that hangs is given up, as clients do.
      const signal = AbortSignal.timeout(3000);
      await fetch(url, { method: 'POST', headers, body, signal })
        .then((response) => response.text())
        .catch(() => undefined);
    }
  }

  const described = async (address: string): Promise<Described | undefined> => {
    const url = `http://127.0.0.1:${stack.serving.metricsPort}/debug/endpoints`;
    const { endpoints } = (await (await fetch(url)).json()) as { endpoints: readonly Described[] };
    return endpoints.find((endpoint) => endpoint.address === address);
  };

  it.each([
    [{ kind: 'error', status: 500 }, 0],
    [{ kind: 'crash' }, 1],
    [{ kind: 'stuck' }, 2],
    [{ kind: 'hang' }, 3],
    [{ kind: 'empty' }, 0],
  ])('[V130][V469] is ejected and comes back: %j', async (fault, at) => {
    const address = pool.endpoints[at]?.address ?? '';
    const faults = `http://${address}/stub/faults`;
    await eventually(
      () => described(address),
      (is) => is?.ejected === false,
    );
    await fetch(faults, { method: 'POST', body: JSON.stringify(fault) });
    const out = await eventually(
      () => described(address),
      (is) => is?.ejected !== false,
    );
    expect(out?.ejected).toMatchObject({ reason: expect.any(String), since: expect.any(String) });
    await fetch(faults, { method: 'DELETE' });
    await eventually(
      () => described(address),
      (is) => is?.ejected === false,
    );
    const page = await (
      await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`)
    ).text();
    expect(page).toMatch(/pointsman_ejections_total\{reason="[a-z-]+"\} [1-9]/);
  });
});
