import { describe, expect, test } from 'vitest';
import { Dealer } from 'zeromq';
import { eventually } from '../../bench/support/stack.ts';
import { stubPoolForTests } from './stub-pool.ts';

/** A crash of the engine's process, and its next start. */

const stub = stubPoolForTests({
  count: 1,
  loras: ['of-the-start'],
  kvEventsPort: 0,
  kvEventsReplayPort: 0,
});

async function post(path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(stub.url(path), { method: 'POST', headers, body: JSON.stringify(body) });
}

async function cachedTokens(prompt: string): Promise<number> {
  const response = await post('/v1/completions', { model: 'm', prompt, max_tokens: 1 });
  const { usage } = (await response.json()) as {
    usage: { prompt_tokens_details: { cached_tokens: number } | null };
  };
  return usage.prompt_tokens_details?.cached_tokens ?? 0;
}

/**
 * The numbers of all batches that the replay socket has; none where it does not answer, as the engine
 * restarts between the request and the answer.
 */
async function replayed(): Promise<readonly number[]> {
  const dealer = new Dealer({ linger: 0, receiveTimeout: 2000 });
  dealer.connect(stub.pool().kvEvents[0]?.replayEndpoint ?? '');
  try {
    await dealer.send([Buffer.alloc(0), Buffer.alloc(8)]);
    const numbers: number[] = [];
    for await (const frames of dealer) {
      const [, number, payload] = frames;
      if (number === undefined || payload === undefined || payload.length === 0) break;
      numbers.push(Number(number.readBigUInt64BE()));
    }
    return numbers;
  } catch {
    return [];
  } finally {
    dealer.close();
  }
}

async function models(): Promise<readonly string[]> {
  const { data } = (await (await fetch(stub.url('/v1/models'))).json()) as {
    data: { id: string }[];
  };
  return data.map(({ id }) => id);
}

describe('an engine that restarts', () => {
  test('[B30] has an empty cache and the adapters of its start, and numbers its events from 0', async () => {
    const prompt = 'the same again and again '.repeat(40);
    await cachedTokens(prompt);
    expect(await cachedTokens(prompt)).toBeGreaterThan(200);
    await post('/v1/load_lora_adapter', { lora_name: 'later' });
    expect(await models()).toContain('later');
    for (let each = 0; each < 3; each++) await cachedTokens(`${each} ${prompt}`);
    const before = await eventually(replayed, (numbers) => numbers.length > 3);

    await post('/stub/faults', { kind: 'crash' });
    await expect(models()).rejects.toThrow();
    await fetch(stub.url('/stub/faults'), { method: 'DELETE' });
    expect(await models()).toEqual(['m', 'of-the-start']);
    expect(await cachedTokens(prompt)).toBe(0);
    const after = await eventually(replayed, (numbers) => numbers.length > 0);
    expect(after[0]).toBe(0);
    expect(after.length).toBeLessThan(before.length);
    expect(await cachedTokens(prompt)).toBeGreaterThan(200);
  });
});
