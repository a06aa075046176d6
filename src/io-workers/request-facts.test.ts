import fc from 'fast-check';
import { expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import type { PromptBlocks } from '../framework/request.ts';
import { BatchReader, BatchWriter } from './batch.ts';
import { readLabels, readRequest, writeLabels, writeRequest } from './request-facts.ts';

/** The last block stands for the rest of the prompt. */
const withRest = (blocks: PromptBlocks): PromptBlocks => ({
  ...blocks,
  count: blocks.count - 1,
  hasRest: true,
});

const text = fc.string({ unit: 'binary' });
const number = fc.double({ noNaN: true });
const request = fc.record({
  id: text,
  model: text,
  rewrite: fc.option(
    fc.record({ requestedModel: text, rule: fc.option(text, { nil: undefined }) }),
    {
      nil: undefined,
    },
  ),
  streaming: fc.boolean(),
  outputTokensMax: fc.option(number, { nil: undefined }),
  promptTokens: number,
  priority: number,
  fairnessId: text,
  objective: fc.option(text, { nil: undefined }),
  ttftSloMs: fc.option(number, { nil: undefined }),
  tpotSloMs: fc.option(number, { nil: undefined }),
  bodyBytes: fc.nat(),
  headers: fc.array(fc.tuple(text, text)).map((pairs) => new Map(pairs)),
  prompt: fc
    .uint32Array({ maxLength: 3000 })
    .map((words): PromptBlocks => ({ count: words.length >> 1, blockTokens: 64, words }))
    .map((blocks) => (blocks.count % 2 === 0 ? blocks : withRest(blocks))),
});

it('[D240] reads from a batch the requests that were written to it, whatever clients send', () => {
  fc.assert(
    fc.property(fc.array(request, { maxLength: 5 }), (requests) => {
      const writer = new BatchWriter();
      for (const each of requests) writeRequest(writer, makeRequest(each));
      const { batch, moved } = writer.take();
      const reader = new BatchReader(structuredClone(batch, { transfer: [...moved] }));
      for (const { prompt, ...facts } of requests) {
        const { prompt: readPrompt, ...readFacts } = readRequest(reader);
        expect(readFacts).toEqual(facts);
        const { count, words, hasRest } = prompt;
        const blocks = hasRest === true ? count + 1 : count;
        expect(readPrompt).toEqual({ ...prompt, words: words.slice(0, 2 * blocks) });
      }
      expect(reader.isAtEnd).toBe(true);
    }),
    { seed: 240, numRuns: 60 },
  );
});

it('[D240] keeps the number of media, and leaves it out where there are none', () => {
  for (const given of [makeRequest(), makeRequest({ mediaItems: 2 })]) {
    const writer = new BatchWriter();
    writeRequest(writer, given);
    expect('mediaItems' in readRequest(new BatchReader(writer.take().batch))).toBe(
      given.mediaItems !== undefined,
    );
  }
});

it('[D350] gives the deciding thread what metrics say of a refused request', () => {
  const request = { model: 'm', rewrite: undefined, fairnessId: 'f', priority: -1 };
  const writer = new BatchWriter();
  writeLabels(writer, request);
  writeLabels(writer, undefined);
  const reader = new BatchReader(writer.take().batch);
  expect([readLabels(reader), readLabels(reader)]).toEqual([request, undefined]);
});
