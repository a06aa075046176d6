import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';
import type { Trace } from '../trace.ts';

const SENT_MS = 1_760_000_000_000;

const ended = (fields: object, around: object = {}): object => ({
  schema: 'dynamo.request.trace.v1',
  event_type: 'request_end',
  event_time_unix_ms: SENT_MS + 900,
  ...around,
  request: { request_id: 'r', request_received_ms: SENT_MS, output_tokens: 7, ...fields },
});
const replay = (tokens: number, hashes: readonly number[], size = 16): object => ({
  replay: { trace_block_size: size, input_length: tokens, input_sequence_hashes: hashes },
});
const read = (...lines: readonly object[]): Trace =>
  readText(lines.map((each) => JSON.stringify(each)).join('\n'));
const readText = (text: string): Trace => readBytes(text, { lenient: false });

describe('a request trace of NVIDIA Dynamo', () => {
  it('[G298] has times, sizes, shared blocks, models, sessions and ends, in the order of arrival', () => {
    const later = ended({ ...replay(20, [11, 12]), request_received_ms: SENT_MS + 500 });
    const whole = ended(
      { ...replay(40, [11, 22, 33]), model: 'm', ttft_ms: 40.5, total_time_ms: 900 },
      { agent_context: { session_id: 's', trajectory_id: 't' } },
    );
    const trace = read(later, whole);
    expect(trace.blockTokens).toBe(16);
    expect(trace.requests).toEqual([
      {
        atMs: 0,
        model: 'm',
        promptTokens: 40,
        outputTokens: 7,
        blockIds: [11, 22],
        session: 't',
        seen: { outcome: 'completed', ttftMs: 40.5, e2eMs: 900 },
      },
      {
        atMs: 500,
        model: '',
        promptTokens: 20,
        outputTokens: 7,
        blockIds: [11],
        seen: { outcome: 'completed' },
      },
    ]);
  });

  it('[G298] may have hashes of 64 bits, events of tools, payloads, envelopes and no hashes', () => {
    const huge = JSON.stringify(ended(replay(32, [1, 2])));
    const hashes = (of: string): string => huge.replace('[1,2]', `[${of}]`);
    const { requests } = readText(
      [
        JSON.stringify({ ...ended({}), event_type: 'tool_end', request: undefined }),
        hashes('18446744073709551615,9007199254740993'),
        hashes('18446744073709551615,13835058055282163712'),
        JSON.stringify({ timestamp: 5, event: ended({ input_tokens: 9 }) }),
        JSON.stringify(ended({})),
      ].join('\n'),
    );
    const [first, second, third] = requests;
    expect(requests).toHaveLength(3);
    expect(first?.blockIds[0]).toBe(second?.blockIds[0]);
    expect(first?.blockIds[1]).not.toBe(second?.blockIds[1]);
    expect([first, second].flatMap((each) => each?.blockIds).every(Number.isSafeInteger)).toBe(
      true,
    );
    expect(third).toMatchObject({ promptTokens: 9, blockIds: [] });
  });

  it('[G298] has answers of unknown length where requests failed or clients left', () => {
    const finish = (reason: string): object => ({
      finish_reason_metadata: { backend_finish_reason: reason },
    });
    const { requests, notes } = read(
      ended({ ...replay(16, [1]), output_tokens: 50 }),
      ended({ ...replay(16, [1]), ...finish('cancelled') }),
      ended({ ...replay(16, [1]), ...finish('error: out of memory') }),
    );
    expect(requests.map(({ seen, outputTokens }) => [seen?.outcome, outputTokens])).toEqual([
      ['completed', 50],
      ['aborted', 50],
      ['failed', 50],
    ]);
    expect(notes.join()).toContain('2 answers of unknown length');
  });

  it.each([
    [[ended(replay(16, [1, 2]))], ':1: input_sequence_hashes has 2 hashes, but 16 tokens are 1'],
    [[ended(replay(16, [1])), ended(replay(64, [1], 64))], ':2: trace_block_size is 64, and 16'],
    [[ended({ output_tokens: -1 })], ':1: request.output_tokens is -1'],
  ])('[G298] says what is wrong with a line: %#', (lines, message) => {
    expect(() => read(...lines)).toThrow(message);
  });
});
