import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';
import type { Trace } from '../trace.ts';

const call = (fields: object): object => ({
  id: 'chatcmpl-1',
  trace_id: 't1',
  call_type: 'acompletion',
  status: 'success',
  prompt_tokens: 10,
  completion_tokens: 20,
  startTime: 1_716_000_000.25,
  endTime: 1_716_000_002,
  completionStartTime: 1_716_000_000.5,
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'why?' }],
  ...fields,
});
const read = (calls: readonly object[]): Trace =>
  readBytes(calls.map((each) => JSON.stringify(each)).join('\n'), { lenient: false });

describe('a log of LiteLLM', () => {
  it('[G195] is recognized, in the order in which calls began, with models, sessions and ends', () => {
    const later = call({ startTime: 1_716_000_001.25, completionStartTime: null, endTime: null });
    expect(read([later, call({ session_id: 's' })]).requests).toEqual([
      {
        atMs: 0,
        model: 'gpt-4o',
        promptTokens: 10,
        outputTokens: 20,
        blockIds: [],
        session: 's',
        seen: { outcome: 'completed', ttftMs: 250, e2eMs: 1750 },
      },
      {
        atMs: 1000,
        model: 'gpt-4o',
        promptTokens: 10,
        outputTokens: 20,
        blockIds: [],
        session: 't1',
        seen: { outcome: 'completed' },
      },
    ]);
  });

  it('[G195] may be the rows of its database, whose times are dates, in an array over many lines', () => {
    const dates = {
      startTime: '2024-05-18T02:40:00.250000',
      endTime: '2024-05-18T02:40:02.000000',
      completionStartTime: '2024-05-18T02:40:02.000000',
    };
    const text = JSON.stringify([call(dates)], undefined, 2);
    // Not streamed: its first token came with its last.
    expect(readBytes(text, { lenient: false }).requests[0]?.seen).toEqual({
      outcome: 'completed',
      e2eMs: 1750,
    });
  });

  it('[G196] counts and leaves out what no model server had to answer with tokens', () => {
    const { requests, notes } = read([
      call({}),
      call({ call_type: 'aembedding', completion_tokens: 0 }),
      call({ cache_hit: 'True' }),
      call({ status: 'failure', prompt_tokens: 0, completion_tokens: 0 }),
    ]);
    expect(requests).toHaveLength(1);
    expect(notes).toEqual(['left out: 3 records, which contain no request of known size']);
  });

  it('[G196] takes the answer of a failed call for one of unknown length', () => {
    const failed = call({ status: 'failure', completion_tokens: 0 });
    const { requests, notes } = read([call({}), failed]);
    expect(requests.map(({ seen, outputTokens }) => [seen?.outcome, outputTokens])).toEqual([
      ['completed', 20],
      ['failed', 20],
    ]);
    expect(notes).toEqual(['1 answer of unknown length: taken as 20 tokens, the median']);
  });

  it('[G195] is refused where a call has no time', () => {
    expect(() => read([call({ startTime: 'yesterday' })])).toThrow(
      ':1: startTime is "yesterday": must be seconds since 1970 or a date',
    );
  });
});
