import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPoolFile } from '../../stub-server/options/stub-pool-file.ts';
import { type StubPool, startMixedPool } from '../../stub-server/pool.ts';

const POOL = `{port: 0, speed: 10, model: m, servers: [{preset: llama-3.1-8b-h100}, {preset: llama-3.1-8b-l40s, engine: sglang}, {engine: trtllm}]}`;

describe('the control server of a stub pool', () => {
  let pool: StubPool | undefined;
  beforeAll(async () => {
    pool = await startMixedPool(readPoolFile(POOL, 'pool.yaml'), { controlPort: 0 });
  });
  afterAll(() => pool?.stop());

  const control = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(`http://${pool?.control ?? ''}${path}`, init);
  const fault = (body: object): Promise<Response> =>
    control('/faults', { method: 'POST', body: JSON.stringify(body) });

  it('shows the state of every server', async () => {
    const { servers } = (await (await control('/state')).json()) as { servers: object[] };
    expect(servers).toMatchObject([
      { name: 'stub-0', kv: { blocks: 27_000 } },
      { name: 'stub-1', kv: { blocks: 12_000 } },
      { name: 'stub-2' },
    ]);
  });

  it('shows each server’s metrics under its engine’s names', async () => {
    const [vllm, sglang] = await Promise.all(
      (pool?.endpoints ?? []).map(async ({ address }) =>
        (await fetch(`http://${address}/metrics`)).text(),
      ),
    );
    expect(vllm).toContain('vllm:num_requests_running');
    expect(sglang).toContain('sglang:num_running_reqs');
  });

  it('[D385] has the page of TensorRT-LLM where trtllm-serve has it, and no other there', async () => {
    const pages = await Promise.all(
      (pool?.endpoints ?? []).map(async ({ address }) => {
        const response = await fetch(`http://${address}/prometheus/metrics`);
        return [response.status, await response.text()] as const;
      }),
    );
    expect(pages.map(([status]) => status)).toEqual([404, 404, 200]);
    expect(pages[2]?.[1]).toContain('trtllm_num_requests_running');
  });

  it.each([
    [{}, 'server: must be the number of a server, from 0, or "all"'],
    [{ server: 0 }, 'kind: must be one of refuse, hang, stuck, crash'],
    [{ server: 0, kind: 'nope' }, 'kind: must be one of refuse, hang, stuck, crash'],
    [{ server: 0, kind: 'slow' }, 'factor: is missing (expected a number)'],
    [{ server: 0, kind: 'hang', x: 1 }, 'x: is not a known field'],
    [[], 'body: must be a map with fields, not a list'],
  ])('[O258] says in words what is wrong with a fault: %j', async (body, said) => {
    const response = await fault(body);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(JSON.stringify(said).slice(1, -1));
  });

  it('[O258] refuses to end faults of a kind that there is not, and a body that is not JSON', async () => {
    const ended = await control('/faults?kind=nope', { method: 'DELETE' });
    expect([ended.status, await ended.text()]).toEqual([
      400,
      expect.stringContaining('must be one of'),
    ]);
    const sent = await control('/faults', { method: 'POST', body: 'x' });
    expect(await sent.text()).toContain('the body is not JSON');
  });

  it('sets and clears the faults of one server or of all', async () => {
    await fault({ server: 1, kind: 'error', status: 500 });
    const status = async (index: number): Promise<number> => {
      const { address = '' } = pool?.endpoints[index] ?? {};
      const response = await fetch(`http://${address}/v1/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'm', prompt: 'x', max_tokens: 1 }),
      });
      await response.text();
      return response.status;
    };
    expect([await status(0), await status(1)]).toEqual([200, 500]);
    await fault({ server: 'all', kind: 'error', status: 503 });
    expect([await status(0), await status(1)]).toEqual([503, 503]);
    await control('/faults?server=all', { method: 'DELETE' });
    expect([await status(0), await status(1)]).toEqual([200, 200]);
  });

  it('rejects invalid requests with a reason', async () => {
    expect((await fault({ server: 7, kind: 'hang' })).status).toBe(404);
    expect((await fault({ server: 0, kind: 'gremlins' })).status).toBe(400);
    expect((await control('/faults', { method: 'POST', body: 'no json' })).status).toBe(400);
    expect((await control('/nowhere')).status).toBe(404);
  });
});
