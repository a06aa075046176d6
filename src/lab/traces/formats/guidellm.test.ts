import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';
import type { Trace } from '../trace.ts';

const START_S = 1_760_000_000;

const request = (at: number, more: object = {}): object => ({
  type_: 'generative_request_stats',
  request_id: `r${at}`,
  output: 'a brace } in a "text"',
  info: { status: 'completed', timings: { request_start: START_S + at } },
  request_start_time: START_S + at,
  request_latency: 0.9,
  time_to_first_token_ms: 80.5,
  prompt_tokens: 256,
  output_tokens: 128,
  ...more,
});

const reportOf = (...requests: readonly object[]): object => ({
  metadata: { version: 1, guidellm_version: '0.6.0' },
  args: { target: 'http://localhost' },
  benchmarks: [
    {
      config: { a: { b: { c: { figure: 1 } } } },
      requests: { successful: requests.slice(0, 2), incomplete: [], errored: requests.slice(2) },
    },
    { requests: { successful: [request(60)], incomplete: [], errored: [] } },
  ],
});

const read = (report: object, spaces?: number): Trace =>
  readBytes(JSON.stringify(report, undefined, spaces), { lenient: false });

describe('[G251] a report of GuideLLM', () => {
  const failed = request(1, { info: { status: 'errored' }, output_tokens: 3 });

  it.each([undefined, 4])('has the requests of all its benchmarks: indented by "%j"', (spaces) => {
    const { requests } = read(reportOf(request(0), request(2.5), failed), spaces);
    expect(requests).toMatchObject([
      { atMs: 0, promptTokens: 256, outputTokens: 128, seen: { ttftMs: 80.5, e2eMs: 900 } },
      { atMs: 1000, outputTokens: 128, seen: { outcome: 'failed' } },
      { atMs: 2500, seen: { outcome: 'completed' } },
      { atMs: 60_000 },
    ]);
  });

  it('is read as older and newer versions write it', () => {
    const old = { request_id: 'o', start_time: START_S, prompt_tokens: 5, output_tokens: 6 };
    const metrics = { input_metrics: { text_tokens: 7 }, output_metrics: { total_tokens: 8 } };
    const timings = { resolve_start: START_S + 1 };
    const bare = { request_id: 'n', info: { status: 'cancelled', timings }, ...metrics };
    const { requests } = read(reportOf(old, bare));
    expect(requests.slice(0, 2)).toMatchObject([
      { promptTokens: 5, outputTokens: 6, seen: { outcome: 'completed' } },
      { atMs: 1000, promptTokens: 7, seen: { outcome: 'aborted' } },
    ]);
  });

  it('counts requests that were never sent, and refuses sizes that are none with their line', () => {
    const unsent = { request_id: 'u', info: { status: 'cancelled' }, prompt_tokens: null };
    expect(read(reportOf(request(0), unsent)).notes).toContain(
      'left out: 1 record, which contains no request of known size',
    );
    expect(() => read(reportOf(request(0), request(1, { prompt_tokens: -3 })), 1)).toThrow(
      /:\d+: prompt_tokens is -3: /,
    );
    const text = JSON.stringify(reportOf(request(0)));
    expect(() => readBytes(text.slice(0, -4), { lenient: false })).toThrow('the JSON does not end');
  });
});
