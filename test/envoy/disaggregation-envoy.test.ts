import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { type Sidecar, startSidecar } from '../../src/sidecar/start-sidecar.ts';
import { readPoolFile } from '../../stub-server/options/stub-pool-file.ts';
import { type StubPool, startMixedPool } from '../../stub-server/pool.ts';
import { sidecarOptions } from '../support/sidecar/sidecar-options.ts';

/**
 * A real Envoy, ext_proc, the sidecar, and stubs that keep and pull KV like vLLM's NIXL connector.
 */

const binary = await envoyBinary();
const POOL = '{port: 0, speed: 10, model: m, servers: [{role: prefill}, {role: decode}]}';
const PROMPT = 'where does this train go next? '.repeat(200);

interface Answer {
  readonly choices: readonly { readonly text: string; readonly finish_reason: string }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

describe.skipIf(binary === undefined)(
  'prefill and decode on separate servers, through a real Envoy',
  () => {
    let pool: StubPool;
    let sidecar: Sidecar;
    let stack: Stack;
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-disaggregation-'));
    const logged: string[] = [];

    beforeAll(async () => {
      pool = await startMixedPool(readPoolFile(POOL, 'pool.yaml'));
      const [prefill = '', decode = ''] = pool.endpoints.map(({ address }) => address);
      const log = (line: string): void => void logged.push(line);
      sidecar = await startSidecar(sidecarOptions({ engine: decode, log }));
      const [host = '', port = ''] = prefill.split(':');
      const [, sidecarPort = ''] = sidecar.address.split(':');
      const endpointsFile = join(folder, 'endpoints.yaml');
      writeFileSync(
        endpointsFile,
        `endpoints:
- {name: prefill, address: ${host}, port: ${port}, labels: {llm-d.ai/role: prefill}}
- {name: decode, address: 127.0.0.1, port: ${sidecarPort}, labels: {llm-d.ai/role: decode}}
`,
      );
      const published = join(import.meta.dirname, '../../deploy/disaggregation.yaml');
      const config = join(folder, 'config.yaml');
      // Computes every prompt elsewhere; this test does not test the decider.
      writeFileSync(
        config,
        readFileSync(published, 'utf8').replaceAll('cost-pd-decider', 'always-disagg-pd-decider'),
      );
      stack = await startStack(binary ?? '', {
        envoy: 'envoy',
        endpoints: [],
        config,
        serve: { endpointsFile },
      });
      await eventually(
        () => fetch(`${stack.url}/v1/models`).then(({ status }) => status),
        (status) => status === 200,
      );
    });
    afterAll(async () => {
      await stack?.stop();
      await sidecar?.stop();
      await pool?.stop();
      rmSync(folder, { recursive: true });
    });

    async function complete(extra: object = {}): Promise<Response> {
      return fetch(`${stack.url}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'm',
          prompt: PROMPT,
          max_tokens: 20,
          ignore_eos: true,
          ...extra,
        }),
      });
    }
    const [PREFILL, DECODE] = [0, 1];
    const engine = (at: number) => pool.endpoints[at]?.engine;

    it('computes the prompt on one server, answers from the other, and holds no block afterwards', async () => {
      const response = await complete();
      const { choices, usage } = (await response.json()) as Answer;
      expect([response.status, usage.completion_tokens]).toEqual([200, 20]);
      expect(choices[0]?.finish_reason).toBe('length');
      expect(sidecar.counts).toEqual({ prefilled: 1, encoded: 0, fellBack: 0 });
      expect(engine(PREFILL)?.kv.pool.cached).toBeGreaterThan(50);
      await eventually(
        () => (engine(PREFILL)?.kv.pool.held ?? 0) + (engine(DECODE)?.kv.pool.held ?? 0),
        (held) => held === 0,
      );
      expect(await stack.inFlight()).toBe(0);
    });

    it('streams the whole answer', async () => {
      const asked = { stream: true, stream_options: { include_usage: true } };
      const text = await (await complete(asked)).text();
      // How many events there are depends on how busy the machine is: a late stub joins tokens.
      expect(text.match(/^data: \{/gm)?.length).toBeGreaterThan(1);
      expect(text).toContain('"completion_tokens":20');
      expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
      expect(sidecar.counts.fellBack).toBe(0);
    });

    it('loses no request when the prefilling server crashes, at any time', async () => {
      const before = sidecar.counts.fellBack;
      const running = Array.from({ length: 20 }, (_, at) =>
        complete({ prompt: `${at} ${PROMPT}` }).then((response) => response.status),
      );
      await fetch(`http://${pool.endpoints[PREFILL]?.address ?? ''}/stub/faults`, {
        method: 'POST',
        body: JSON.stringify({ kind: 'crash' }),
      });
      const after = Array.from({ length: 20 }, (_, at) =>
        complete({ prompt: `again ${at} ${PROMPT}` }).then((response) => response.status),
      );
      const statuses = await Promise.all([...running, ...after]);
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(sidecar.counts.fellBack).toBeGreaterThan(before);
      expect(logged.at(-1)).toContain('failed, computing here');
      expect(await stack.inFlight()).toBe(0);
    });
  },
);
