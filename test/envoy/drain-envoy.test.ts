import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

/** A picker ends behind a real Envoy, while requests have no answer or half of one. */

const binary = await envoyBinary();

describe.skipIf(binary === undefined)('a picker that ends, through Envoy', () => {
  let upstream: Upstream;
  let stack: Stack;
  beforeAll(async () => {
    upstream = await startUpstream();
    upstream.answer(({ headers }, response) => {
      if (headers['x-test'] !== 'half') return;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"choices":[');
    });
    const serve = { drainTimeoutMs: 500 };
    stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: [upstream.address],
      serve,
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await upstream?.stop();
  });

  const ask = (kind: string): Promise<Response> =>
    fetch(`${stack.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-test': kind },
      body: '{"model":"m","prompt":"hello"}',
    });

  it('[V514] says why to a client whose request has no answer yet, and cuts an answer that has begun', async () => {
    const none = ask('none');
    const half = await ask('half');
    await eventually(
      () => stack.inFlight(),
      (count) => count === 2,
    );
    await stack.serving.stop({ notice: false });
    const refused = await none;
    expect(refused.status).toBe(503);
    expect(refused.headers.get('x-llm-d-request-dropped-reason')).toBe('rejected-shutting-down');
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(half.status).toBe(200);
    await expect(half.text()).rejects.toThrow();
  });
});
