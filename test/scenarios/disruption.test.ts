import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { simple } from './configs.ts';
import { binary, Scenario, type Server, servers } from './scenario.ts';

/**
 * llm-d's scenarios in which a server or the picker is killed, as processes behind a real Envoy.
 */

const PROMPT = 'My name is a name of nine letters, and I would like to see every planet once.';

describe.skipIf(binary === undefined)('a deployment that loses a part', () => {
  let scenario: Scenario;
  beforeEach(() => {
    scenario = new Scenario();
  });
  afterEach(() => scenario.stop());

  const start = (count: number): Promise<readonly Server[]> =>
    scenario.startSimulators(
      Array.from({ length: count }, () => 'decode'),
      ['--inter-token-latency=50'],
    );

  async function succeedsAgain(): Promise<void> {
    let inARow = 0;
    await eventually(
      async () => {
        inARow = (await scenario.status()) === 200 ? inARow + 1 : 0;
        return inARow;
      },
      (count) => count >= 3,
    );
  }

  it('[B97] a killed server is left out, and another takes its place', async () => {
    const [lost, kept, spare] = (await start(3)) as readonly [Server, Server, Server];
    await scenario.start(simple, [lost, kept]);
    await lost.program.kill();
    // Until the picker has noticed, single requests may fail.
    await succeedsAgain();
    const served = await eventually(
      () => servers([kept], () => scenario.complete(PROMPT)).catch(() => []),
      (by) => by.length === 1,
    );
    expect(served).toEqual([kept]);
    scenario.setEndpoints([kept, spare]);
    await succeedsAgain();
  });

  it('[B97] a stream from a killed server ends at once, and routing recovers', async () => {
    const pool = await start(2);
    await scenario.start(simple, pool);
    const running = async (): Promise<readonly number[]> =>
      Promise.all(
        pool.map(async ({ address }) => {
          const page = await (await fetch(`http://${address}/metrics`)).text();
          return Number(/^vllm:num_requests_running\S* (\S+)$/m.exec(page)?.[1] ?? 0);
        }),
      );
    const response = await scenario.complete(PROMPT, {
      stream: true,
      max_tokens: 900,
      ignore_eos: true,
    });
    const reader = response.body?.getReader();
    await reader?.read();
    const counts = await eventually(running, (all) => all.includes(1));
    await pool[counts.indexOf(1)]?.program.kill();
    // Either the connection breaks or the stream ends: it does not hang until the time limit.
    const rest = (async (): Promise<string> => {
      for (;;) if ((await reader?.read())?.done !== false) return 'ended';
    })();
    expect(await rest.catch((error: Error) => error.name)).not.toBe('TimeoutError');
    await succeedsAgain();
  });

  it('[B98] without servers requests are refused with 503, and served when one is back', async () => {
    const [first, second] = (await start(2)) as readonly [Server, Server];
    await scenario.start(simple, [first]);
    let [succeeded, failed] = [0, 0];
    let ended = false;
    const traffic = (async (): Promise<void> => {
      while (!ended) {
        if ((await scenario.status()) === 200) succeeded += 1;
        else failed += 1;
      }
    })();
    scenario.setEndpoints([]);
    await first.program.kill();
    await eventually(
      () => scenario.status(),
      (status) => status === 503,
    );
    await eventually(
      () => failed,
      (count) => count > 0,
    );
    scenario.setEndpoints([second]);
    const before = succeeded;
    await eventually(
      () => succeeded,
      (count) => count > before,
    );
    ended = true;
    await traffic;
  });

  it('[B99] requests fail while the picker is gone, and succeed when it is back', async () => {
    await scenario.start(simple, await start(1));
    await scenario.killPicker();
    await eventually(
      () => scenario.status(),
      (status) => status >= 500,
    );
    await scenario.restartPicker();
    await succeedsAgain();
  });
});
