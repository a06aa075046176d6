import { expect, it } from 'vitest';
import { makeRouted } from '../../../test/makers.ts';
import { startPreciseIndex as setUp, stored } from '../../../test/support/precise-index.ts';

/** Requests with several texts, or lists of token ids, each of which has a chain of its own. */

const IDS = Array.from({ length: 16 }, (_, at) => 100 + at);
const UNIT = { tokenProcessorConfig: { blockSizeTokens: 4 } };

it('[D476] adds up what an endpoint holds of each list of token ids', () => {
  const { add, publisher, request, match, index } = setUp({ ...UNIT, speculativeIndexing: true });
  const [a, b] = [add('10.0.0.1'), add('10.0.0.2')];
  publisher('tcp://10.0.0.1:5557')(stored(IDS));
  publisher('tcp://10.0.0.2:5557')(stored(IDS.slice(0, 4)));
  const other = IDS.map((id) => id + 50);
  // Four blocks, two of the same beginning, one that nobody has, and one that fills no block.
  const prompt = [IDS, [...IDS.slice(0, 8), 1], other.slice(0, 6), [7]];
  const { request: made } = request({ prompt });
  const { matchedBlocks, totalBlocks, heldBlocks } = match(made);
  expect(totalBlocks).toBe(7);
  expect([matchedBlocks(a), matchedBlocks(b)]).toEqual([6, 2]);
  expect(heldBlocks?.(a)).toEqual({ inAnyTier: 6, onHost: 0 });
  expect(index.matches).toEqual({ precise: 1, approximate: 0, hits: 6 });
  // What was sent counts before the engine says that it stores it, of each text.
  index.onRouted(makeRouted(b, { request: made }));
  expect(match(request({ prompt: [other.slice(0, 6)] }).request).matchedBlocks(b)).toBe(1);
});

it('[D476] asks for the tokens of each text, and waits for all of them', async () => {
  const answers = [IDS, IDS.slice(0, 9)];
  const bodyOf = (tokens: unknown) => new TextEncoder().encode(JSON.stringify({ tokens }));
  const { add, publisher, request, match, asked, clock, index } = setUp(UNIT, () => ({
    status: 200,
    body: bodyOf(answers.shift() ?? 'none'),
  }));
  const a = add('10.0.0.1');
  publisher('tcp://10.0.0.1:5557')(stored(IDS));
  const first = request({ prompt: ['long', 'short'] });
  expect(first.waits).toBe(true);
  await clock.run();
  expect(first.isReady()).toBe(true);
  expect(asked).toHaveLength(2);
  expect(match(first.request).matchedBlocks(a)).toBe(6);
  // One is known, the tokenizer fails at the other.
  const second = request({ prompt: ['short', 'new'] });
  await clock.run();
  expect([second.waits, second.isReady()]).toEqual([true, true]);
  expect([...index.prompts.counts]).toEqual([
    ['tokenizer', 1],
    ['failed', 1],
  ]);
});
