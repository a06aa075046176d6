import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { anyServer, dataParallel, simple } from './configs.ts';
import { freePorts } from './processes.ts';
import { binary, Scenario, type Server, servers } from './scenario.ts';

/** llm-d's scenarios without disaggregation, as processes behind a real Envoy. */

const PROMPT = 'My name is a name of nine letters, and I would like to see every planet once.';
const OTHER = 'Why does the sky turn red in the evening and not at noon?';

describe.skipIf(binary === undefined)('one pool of servers', () => {
  const scenario = new Scenario();
  let pool: readonly Server[];
  beforeAll(async () => {
    pool = await scenario.startServers(['decode']);
    await scenario.start(simple, pool);
  });
  afterAll(() => scenario.stop());

  it('[B90] serves every request', async () => {
    for (let count = 0; count < 5; count++) {
      expect((await scenario.complete(PROMPT)).status).toBe(200);
    }
  });

  it('[B90] reports metrics of the pool', async () => {
    expect(await scenario.metric('llm_d_epp_ready_endpoints', 'name="pool"')).toBe(1);
    const served = await scenario.metric('llm_d_epp_request_total');
    expect(served).toBeGreaterThan(0);
  });
});

describe.skipIf(binary === undefined)('a pool that grows and shrinks', () => {
  const scenario = new Scenario();
  afterAll(() => scenario.stop());

  it('[B90] uses a new server, and after it has gone only the other', async () => {
    const roles = ['decode', 'decode'];
    const pool = await scenario.startSimulators(roles);
    const [first, second] = pool as readonly [Server, Server];
    const both = [first, second];
    await scenario.start(anyServer, [first]);
    for (let count = 0; count < 5; count++) {
      expect(await servers(both, () => scenario.complete(PROMPT))).toEqual([first]);
    }
    scenario.setEndpoints(both);
    await eventually(
      () => servers(both, () => scenario.complete(OTHER)),
      (served) => served.includes(second),
    );
    scenario.setEndpoints([second]);
    await eventually(
      () => scenario.metric('llm_d_epp_ready_endpoints'),
      (ready) => ready === 1,
    );
    for (let count = 0; count < 5; count++) {
      expect(await servers(both, () => scenario.complete(PROMPT))).toEqual([second]);
    }
  });
});

describe.skipIf(binary === undefined)('data-parallel ranks behind one sidecar', () => {
  const scenario = new Scenario();
  let engines: readonly Server[];
  beforeAll(async () => {
    const [enginePort, port] = [await freePorts(2), await freePorts(2)];
    engines = await scenario.startServers(['decode'], { dataParallelSize: 2, port: enginePort });
    const [first] = engines;
    if (first === undefined) throw new Error('no engine');
    const flags = ['--data-parallel-size=2', `--port=${port}`];
    const [sidecar] = await scenario.withSidecars([first], flags);
    if (sidecar === undefined) throw new Error('no sidecar');
    const second = { ...sidecar, address: `127.0.0.1:${port + 1}` };
    await scenario.start(dataParallel(port), [sidecar, second]);
  });
  afterAll(() => scenario.stop());

  it.each(['complete', 'chat'] as const)('[B91] all get requests: %s', async (kind) => {
    const seen = new Set<string>();
    await eventually(
      async () => {
        const served = await servers(engines, () => scenario[kind](OTHER));
        for (const { address } of served) seen.add(address);
        return seen.size;
      },
      (count) => count === 2,
    );
  });
});
