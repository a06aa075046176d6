import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';

const RUN = {
  date: '20250801-101010',
  model_id: 'llama',
  num_prompts: 3,
  duration: 3.2,
  input_lens: [50, 60, 70],
  output_lens: [10, 20, 0],
  ttfts: [0.125, 0.25, 0],
  itls: [[0.5, 0.25], [], []],
  start_times: [1000.5, 1000, 1001.75],
  generated_texts: ['a', 'b', ''],
  errors: ['', '', 'Service Unavailable'],
};

const read = (run: object): ReturnType<typeof readBytes> =>
  readBytes(`${JSON.stringify(run)}\n`, { lenient: false });

describe('[O470] a result of `vllm bench serve --save-detailed`', () => {
  it('has a request for each value of its lists, in the order in which they were sent', () => {
    const { requests, notes } = read(RUN);
    expect(requests).toMatchObject([
      { atMs: 0, model: 'llama', promptTokens: 60, outputTokens: 20, seen: { ttftMs: 250 } },
      { atMs: 500, promptTokens: 50, outputTokens: 10, seen: { ttftMs: 125, e2eMs: 875 } },
      { atMs: 1750, promptTokens: 70, outputTokens: 20, seen: { outcome: 'failed' } },
    ]);
    expect(notes).toEqual(['1 answer of unknown length: taken as 20 tokens, the median']);
  });

  it('[G274] may be spread over many lines by a formatter, also where its lists are long', () => {
    const { input_lens, start_times, ...rest } = RUN;
    const scalars = { tokenizer_id: 'llama', request_rate: 'inf' };
    const list = Array.from({ length: 3000 }, () => 50);
    const lists = { input_lens: list, output_lens: list, start_times: list, ttfts: [], errors: [] };
    const long = { ...scalars, ...rest, ...lists };
    for (const run of [{ ...scalars, ...rest, input_lens, start_times }, long]) {
      const text = JSON.stringify(run, undefined, 4);
      expect(readBytes(text, { lenient: false }).requests).toHaveLength(run.start_times.length);
    }
    const { start_times: _, ...without } = long;
    expect(() => readBytes(JSON.stringify(without, undefined, 4), { lenient: false })).toThrow(
      'this result of a benchmark has no start_times',
    );
  });

  it('is refused where its lists have other lengths, with these', () => {
    expect(() => read({ ...RUN, input_lens: [1] })).toThrow(
      'start_times has 3 values, input_lens 1 and output_lens 3',
    );
  });
});
