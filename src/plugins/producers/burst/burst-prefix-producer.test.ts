import { describe, expect, test } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../../../test/makers.ts';
import type { PrefixMatch } from '../../../framework/cycle-facts.ts';
import type { DataSource } from '../../../framework/plugin.ts';
import type { InferenceRequest, PromptBlocks } from '../../../framework/request.ts';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { type AssignOptions, assignBatch, type BatchEntry } from './assign-batch.ts';
import { burstPrefixProducer } from './burst-prefix-producer.ts';

/** A prompt of one block for each character: prompts share blocks as far as their texts agree. */
function promptOf(text: string): PromptBlocks {
  const words = new Uint32Array(2 * text.length);
  for (let at = 0; at < text.length; at++) {
    let hash = 7;
    for (const character of text.slice(0, at + 1)) {
      hash = Math.imul(hash, 31) + (character.codePointAt(0) ?? 0);
    }
    words[2 * at] = hash;
  }
  return { count: text.length, blockTokens: 64, words };
}

/** The same, of which the last character is the rest behind the last whole block. */
function partial(text: string): PromptBlocks {
  const { count, ...prompt } = promptOf(text);
  return { ...prompt, count: count - 1, hasRest: true };
}

/** The place of each prompt among three endpoints, by name; `-` for none. */
function placed(
  texts: readonly string[],
  options: Partial<AssignOptions> = {},
  { running = [0, 0, 0], byTokens = false }: Partial<{ running: number[]; byTokens: boolean }> = {},
): string {
  const entries = texts.map((text): BatchEntry => {
    const prompt = promptOf(text);
    const weight = byTokens ? prompt.count : 1;
    return { prompt, blocks: prompt.count, weight, assigned: undefined };
  });
  const endpoints = makePool(running.map((each) => ({ running: each })));
  assignBatch(entries, endpoints, { maxPerReplica: undefined, minColocateBlocks: 0, ...options });
  return entries.map(({ assigned }) => assigned?.replace('pod-', '') ?? '-').join('');
}

describe('the placement of a batch', () => {
  test.each<[string, readonly string[], Partial<AssignOptions>, string]>([
    ['equal prompts go together, others nowhere', ['a', 'b', 'a', 'a'], {}, '0-00'],
    ['groups spread over endpoints, the longest first', ['a', 'a', 'bb', 'bb'], {}, '1100'],
    ['an empty prompt is in no group', ['', ''], {}, '--'],
    ['a limit spreads one group', ['a', 'a', 'a', 'a', 'a'], { maxPerReplica: 2 }, '00112'],
    ['beyond all limits one at a time', ['a', 'a', 'a', 'a'], { maxPerReplica: 1 }, '0120'],
    [
      'prompts that share enough blocks are placed, within the fair share',
      ['abc', 'abd'],
      { minColocateBlocks: 2 },
      '01',
    ],
    ['less than that go nowhere', ['abc', 'axy'], { minColocateBlocks: 2 }, '--'],
    [
      'a prompt follows a group whose prefix it shares, within the fair share',
      ['ab', 'ab', 'abc', 'x', 'x', 'y', 'y'],
      { minColocateBlocks: 2 },
      '0001122',
    ],
    [
      'and goes elsewhere beyond the fair share',
      ['ab', 'ab', 'abc', 'x', 'x', 'y', 'y', 'z', 'z'],
      { minColocateBlocks: 2 },
      '001112200',
    ],
  ])('[D70] %s', (_name, texts, options, places) => {
    expect(placed(texts, options)).toBe(places);
  });

  test('[D70] shares are counted in requests or in tokens', () => {
    const texts = ['aaaaaa', 'aaaaaa', 'b', 'b', 'c', 'c', 'd', 'd'];
    expect(placed(texts)).toBe('00112200');
    expect(placed(texts, {}, { byTokens: true })).toBe('00112211');
  });

  test('[D70] the endpoint with fewer running requests is first of those with equal shares', () => {
    expect(placed(['a', 'a'], {}, { running: [3, 1, 2] })).toBe('11');
    expect(placed(['a', 'a'], {}, { running: [] })).toBe('--');
  });
});

function setUp(parameters: object = {}) {
  const clock = new SimulatedClock();
  const pool = makePool([{}, {}, {}]);
  const writer = { snapshot: () => pool, observe: () => undefined, set: () => undefined };
  const config = burstPrefixProducer.config.parse(parameters);
  const host = { name: 'burst', pool: writer, runtime: { ...makeRuntime(), clock } };
  const source: DataSource = burstPrefixProducer.start(config, host);
  const ready: string[] = [];
  const send = (text: string): InferenceRequest => sendPrompt(promptOf(text), text);
  const sendPrompt = (prompt: PromptBlocks, text = ''): InferenceRequest => {
    const request = makeRequest({ prompt });
    const waits = source.prepare?.(request, [], () => ready.push(text));
    if (waits !== true) ready.push(`${text} at once`);
    return request;
  };
  const match = (request: InferenceRequest): readonly number[] => {
    const fact = source.facts?.[0]?.compute(pool, makeContext({ request })) as PrefixMatch;
    return pool.map((endpoint) => fact.matchedBlocks(endpoint));
  };
  return { clock, source, ready, send, sendPrompt, match };
}

describe('burst-prefix-cache-producer', () => {
  test('[D71] holds the requests of a window and releases them together', async () => {
    const { clock, ready, send, match } = setUp();
    const requests = [send('aa'), send('bb')];
    await clock.run(60);
    requests.push(send('aa'));
    expect(ready).toEqual([]);
    await clock.run(100);
    expect(ready).toEqual(['aa', 'bb', 'aa']);
    expect(requests.map(match)).toEqual([
      [2, 0, 0],
      [0, 0, 0],
      [2, 0, 0],
    ]);
    send('cc');
    await clock.run(300);
    expect(ready.at(-1)).toBe('cc');
  });

  test('[D71] a request that finds the batch full does not wait, and has no match', async () => {
    const { clock, ready, send, match } = setUp({ maxBatchSize: 1 });
    send('a');
    const late = send('a');
    expect(ready).toEqual(['a at once']);
    await clock.run(200);
    expect(match(late)).toEqual([0, 0, 0]);
  });

  test('[D71] compares prompts up to a number of tokens', async () => {
    const { clock, send, match } = setUp({ maxPrefixTokensToMatch: 130 });
    const first = send('aab');
    send('aac');
    await clock.run(200);
    expect(match(first)).toEqual([2, 0, 0]);
  });

  test('[G176] what follows the last whole block of a prompt counts as a block', async () => {
    const { clock, sendPrompt, match } = setUp();
    // Two prompts that are shorter than a block, and two with the same whole block.
    const short = [sendPrompt(partial('a')), sendPrompt(partial('a'))];
    const longer = [sendPrompt(partial('xy')), sendPrompt(partial('xz'))];
    await clock.run(200);
    expect(short.map(match)).toEqual([
      [1, 0, 0],
      [1, 0, 0],
    ]);
    expect(longer.map(match)).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });

  test('[G176] blocks have the size that the configuration says, in multiples of 64', async () => {
    const { clock, send, match } = setUp({ blockSizeTokens: 130, minColocateBlocks: 1 });
    const requests = [send('aabc'), send('aabc'), send('aax')];
    await clock.run(200);
    expect(requests.map(match)).toEqual([
      [2, 0, 0],
      [2, 0, 0],
      [0, 2, 0],
    ]);
  });

  test('[D71] releases the waiting requests when it stops', () => {
    const { source, ready, send } = setUp();
    send('a');
    source.stop();
    expect(ready).toEqual(['a']);
  });

  test.each([
    { windowDurationMs: 0 },
    { windowDurationMs: 10_001 },
    { maxPerReplica: 0 },
    { maxBatchSize: -2 },
    { minColocateBlocks: -1 },
    { balanceBy: 'bytes' },
  ])('[D71] %j is refused', (parameters) => {
    expect(() => burstPrefixProducer.config.parse(parameters)).toThrow();
  });
});
