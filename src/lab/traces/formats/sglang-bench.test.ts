import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';

const RUN = {
  tag: null,
  backend: 'sglang',
  dataset_name: 'random',
  request_rate: 4,
  max_concurrency: null,
  input_lens: [50, 60, 70],
  output_lens: [10, 20, 0],
  ttfts: [0.125, 0.25, 0],
  itls: [[0.5, 0.25], [], []],
  generated_texts: ['Infinity', 'NaN', ''],
  errors: ['', '', 'Service Unavailable'],
};

const read = (...lines: readonly string[]): ReturnType<typeof readBytes> =>
  readBytes(`${lines.join('\n')}\n`, { lenient: false });

describe('[G252] a result of SGLang’s bench_serving', () => {
  it('has requests as far apart as its rate says, one run behind the other, and says so', () => {
    const { requests, notes } = read(JSON.stringify(RUN), JSON.stringify(RUN));
    expect(requests).toMatchObject([
      { atMs: 0, promptTokens: 50, outputTokens: 10, seen: { ttftMs: 125, e2eMs: 875 } },
      { atMs: 250, promptTokens: 60, outputTokens: 20 },
      { atMs: 500, promptTokens: 70, seen: { outcome: 'failed' } },
      { atMs: 750 },
      { atMs: 1000 },
      { atMs: 1250 },
    ]);
    expect(notes.join()).toContain('the results do not say when requests came');
  });

  it('is read with Python’s Infinity: all requests come at once', () => {
    const text = JSON.stringify(RUN).replace('"request_rate":4', '"request_rate":Infinity');
    expect(read(text).requests.map(({ atMs }) => atMs)).toEqual([0, 0, 0]);
  });

  it('is refused where its requests waited for others, because it does not say when they came', () => {
    const text = JSON.stringify({ ...RUN, max_concurrency: 8, request_rate: null });
    expect(() => read(text)).toThrow('sent as others ended (8 at once)');
    expect(() => read(JSON.stringify({ ...RUN, request_rate: 'trace' }))).toThrow(
      'sent at the times of a trace',
    );
  });

  it('is refused where its lists have other lengths, with these', () => {
    expect(() => read(JSON.stringify({ ...RUN, input_lens: [1] }))).toThrow(
      'input_lens has 1 values and output_lens 3',
    );
  });
});
