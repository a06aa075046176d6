import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { configFileOf, planFrom } from '../../src/catalogue/plan.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { tellFigure } from '../support/figure.ts';

const binary = await envoyBinary();
const SWAPS = 12;
/** The least time between two swaps, so that requests come after each. */
const REQUESTS_A_SWAP = 25;
const CLIENTS = 8;

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
const weighed = (weight: number): string => `${HEAD}plugins:
  - { type: prefix-cache-scorer }
  - { type: queue-scorer }
schedulingProfiles:
  - name: default
    plugins: [{ pluginRef: prefix-cache-scorer, weight: ${weight} }, { pluginRef: queue-scorer }]
`;
const VALID: readonly string[] = [
  weighed(2),
  weighed(5),
  `${HEAD}plugins: [{ type: predicted-cost-scorer }]\n`,
  `${HEAD}plugins: [{ type: round-robin-scorer }]\n`,
];
const BROKEN: readonly (readonly [text: string, said: string])[] = [
  [`${HEAD}plugins: [`, 'line'],
  [`${HEAD}plugins: [{ type: queue-scorrer }]\n`, 'queue-scorrer'],
  [weighed(1).replace('weight: 1', 'weight: heavy'), 'weight'],
  ['', 'config.yaml'],
];

describe.skipIf(binary === undefined)('a configuration mounted as a ConfigMap', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-config-'));
  const path = join(folder, 'config.yaml');
  let pool: StubPool;
  let stack: Stack;
  let stopping = false;
  let requests = 0;
  const failed: string[] = [];
  let clients: Promise<unknown> = Promise.resolve();
  let version = 0;

  /**
   * As a kubelet does: it makes a new folder, moves the link `..data` to it in one step, and
   * deletes the old folder.
   */
  function publish(text: string): void {
    const before = version++;
    mkdirSync(join(folder, `..${version}`));
    writeFileSync(join(folder, `..${version}`, 'config.yaml'), text);
    symlinkSync(`..${version}`, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    rmSync(join(folder, `..${before}`), { recursive: true, force: true });
  }

  async function client(number: number): Promise<void> {
    for (let n = 0; !stopping; n++) {
      const prompt = `${`family ${n % 5} `.repeat(60)} ${number} ${n}`;
      const response = await fetch(`${stack.url}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', prompt, max_tokens: 4, stream: n % 2 === 0 }),
      });
      const text = await response.text();
      const whole = n % 2 === 0 ? text.trimEnd().endsWith('[DONE]') : text.includes('"usage"');
      if (response.status !== 200 || !whole) failed.push(`${response.status}: ${text}`);
      requests += 1;
    }
  }

  beforeAll(async () => {
    publish(VALID[0] ?? '');
    symlinkSync(join('..data', 'config.yaml'), path);
    pool = await startStubPool(stubOptions.parse({ count: 4, port: 0, speed: 10, model: 'm' }));
    stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: pool.endpoints.map(({ address }) => address),
      serve: { plan: planFrom(path), configFile: await configFileOf(path, []) },
    });
    clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  });
  afterAll(async () => {
    stopping = true;
    await clients;
    await stack?.stop();
    await pool?.stop();
    rmSync(folder, { recursive: true });
  });

  const get = async (page: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${stack.serving.metricsPort}${page}`)).text();

  async function reloads(): Promise<Record<string, number>> {
    const page = await get('/metrics');
    const found = page.matchAll(/^pointsman_config_reloads_total\{outcome="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...found].map(([, outcome, count]) => [outcome, Number(count)]));
  }

  it('is swapped repeatedly under load, valid and broken in turn, and no request fails', async (context) => {
    for (let swap = 0; swap < SWAPS; swap++) {
      const turn = Math.floor(swap / 2);
      const isBroken = swap % 2 === 1;
      const [broken = '', said = ''] = BROKEN[turn % BROKEN.length] ?? [];
      const before = requests;
      publish(isBroken ? broken : (VALID[(turn + 1) % VALID.length] ?? ''));
      const expected = { adopted: turn + 1, refused: isBroken ? turn + 1 : turn };
      await eventually(reloads, (is) => JSON.stringify(is) === JSON.stringify(expected));
      await eventually(
        () => requests - before,
        (since) => since >= REQUESTS_A_SWAP,
      );
      const { ok, detail } = JSON.parse(await get('/readyz')) as {
        ok: boolean;
        detail: { configError?: string; endpoints: number };
      };
      // A broken one is reported, and the picker is as ready as before.
      expect([ok, detail.endpoints]).toEqual([true, 4]);
      if (isBroken) expect(detail.configError).toContain(said);
      else expect(detail.configError).toBeUndefined();
      const good = `pointsman_config_last_reload_successful ${isBroken ? 0 : 1}\n`;
      expect(await get('/metrics')).toContain(good);
    }
    stopping = true;
    await clients;
    tellFigure(context, {
      what: `${requests} requests through a real Envoy while the configuration is swapped ${SWAPS} times, half of them broken`,
      promised: '0 failed',
      measured: `${failed.length} failed`,
    });
    expect(failed).toEqual([]);
    await eventually(
      () => stack.inFlight(),
      (count) => count === 0,
    );
  });
});
