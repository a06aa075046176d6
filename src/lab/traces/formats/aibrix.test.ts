import { expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';
import type { Trace } from '../trace.ts';

const read = (text: string): Trace => readBytes(text, { lenient: false });

const at = (timestamp: number, ...requests: readonly object[]): object => ({ timestamp, requests });
const turn = (
  prompt_length: number,
  output_length: number | null,
  session_id?: number,
): object => ({
  prompt: 'Is "timestamp": 1, "requests": [ a workload?',
  prompt_length,
  output_length,
  ...(session_id !== undefined && { session_id }),
});

it('[G309] a workload of AIBrix has its times in ms, and prompts that hold their conversation', () => {
  const groups = [
    at(19, turn(100, 30, 0), turn(50, null)),
    at(1019, turn(20, 10, 0), turn(64, null, 1)),
    at(1519),
    at(2019, turn(64, 7, 1)),
  ];
  const lines = groups.map((each) => JSON.stringify(each)).join('\n');
  for (const text of [lines, JSON.stringify(groups), JSON.stringify(groups, undefined, 2)]) {
    const { requests, notes } = read(text);
    expect(
      requests.map((each) => [each.atMs, each.promptTokens, each.outputTokens, each.session]),
    ).toEqual([
      [0, 100, 30, '0'],
      [0, 50, 10, undefined],
      [1000, 150, 10, '0'],
      [1000, 64, 10, '1'],
      [2000, 128, 7, '1'],
    ]);
    const [first, , second] = requests.map(({ blockIds }) => blockIds);
    expect(second).toHaveLength(2);
    expect(second?.slice(0, 1)).toEqual(first);
    expect(notes.join()).toContain(
      '1 answer of conversations of unknown length: left out of the prompts of later turns',
    );
  }
});

it('[G309] the output of AIBrix’s client has its times in seconds, in any order, with what became of each request', () => {
  const done = {
    request_id: 1,
    status: 'success',
    input: [{ role: 'user', content: 'Why?' }],
    output: 'So.',
    prompt_tokens: 217,
    output_tokens: 66,
    total_tokens: 283,
    latency: 2.5,
    throughput: 26.4,
    start_time: 10_199_141.5,
    end_time: 10_199_144,
    ttft: 0.125,
    tpot: 0.03,
    session_id: null,
  };
  const earlier = { ...done, start_time: 10_199_140.25, ttft: 'Unknown', session_id: 3 };
  const failed = { ...done, status: 'error', prompt_tokens: 0, output_tokens: 0, throughput: 0 };
  const { requests, notes } = read(
    [done, earlier, failed].map((each) => JSON.stringify(each)).join('\n'),
  );
  expect(requests).toEqual([
    expect.objectContaining({
      atMs: 0,
      promptTokens: 217,
      outputTokens: 66,
      session: '3',
      seen: { outcome: 'completed', e2eMs: 2500 },
    }),
    expect.objectContaining({
      atMs: 1250,
      seen: { outcome: 'completed', ttftMs: 125, e2eMs: 2500 },
    }),
  ]);
  expect(notes).toEqual(['left out: 1 record, which contains no request of known size']);
});
