import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { kvEvents } from './configs.ts';
import { freePort, isReplaced, PICKER, SIMULATOR } from './processes.ts';
import { binary, Scenario, type Server, servedBy, servers } from './scenario.ts';

/** llm-d's scenario with KV events and tokens of a model server, behind a real Envoy. */

const PROMPT = 'A name of nine letters, and a wish to see each planet of the sun once. '.repeat(4);

// Simulators connect to the picker, and ours waits to be connected to, as vLLM does.
describe.skipIf(binary === undefined || isReplaced(SIMULATOR))('prefixes by KV events', () => {
  const scenario = new Scenario();
  let pool: readonly Server[];
  beforeAll(async () => {
    const kvEventsPort = await freePort();
    pool = await scenario.startServers(['decode'], { kvEventsPort });
    await scenario.start(kvEvents(pool[0]?.address ?? '', kvEventsPort), pool);
  });
  afterAll(() => scenario.stop());

  it('[B96] every request goes to the server that has its prefix', async () => {
    for (let count = 0; count < 3; count++) {
      expect(await servers(pool, () => scenario.complete(PROMPT))).toEqual(pool);
      expect(await servers(pool, () => scenario.chat(PROMPT))).toEqual(pool);
    }
  });

  it.skipIf(isReplaced(PICKER))('[B96] the events arrive, and prompts are looked up', async () => {
    await eventually(
      async () => {
        await (await scenario.complete(PROMPT)).text();
        return scenario.metric('llm_d_epp_kv_cache_index_lookup_hits_total');
      },
      (hits) => hits > 0,
    );
  });
});

describe.skipIf(binary === undefined || isReplaced(SIMULATOR))(
  'a tokenizer that is no engine',
  () => {
    const scenario = new Scenario();
    let pool: readonly Server[];
    let tokenizer: Server;
    beforeAll(async () => {
      const kvEventsPort = await freePort();
      pool = await scenario.startServers(['decode'], { kvEventsPort });
      [tokenizer] = (await scenario.startServers(['decode'])) as [Server];
      await scenario.start(kvEvents(tokenizer.address, kvEventsPort), pool);
    });
    afterAll(() => scenario.stop());

    it('[B214] makes the tokens by which prefixes are found, and generates nothing', async () => {
      expect(await servers(pool, () => scenario.complete(PROMPT))).toEqual(pool);
      expect(await servers(pool, () => scenario.chat(PROMPT))).toEqual(pool);
      for (let count = 0; count < 3; count++) {
        expect(await servers(pool, () => scenario.complete(PROMPT))).toEqual(pool);
      }
      expect(await servedBy(tokenizer)).toBe(0);
      if (isReplaced(PICKER)) return;
      await eventually(
        async () => {
          await (await scenario.complete(PROMPT)).text();
          return scenario.metric('llm_d_epp_kv_cache_index_lookup_hits_total');
        },
        (hits) => hits > 0,
      );
    });

    it('[B214] requests are served without it, too', async () => {
      await tokenizer.program.kill();
      for (let count = 0; count < 3; count++) {
        expect(await servers(pool, () => scenario.complete(PROMPT))).toEqual(pool);
      }
    });
  },
);
