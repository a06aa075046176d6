import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';
import { withSessions } from '../find-sessions.ts';
import type { Trace } from '../trace.ts';

const row = (fields: object): string =>
  JSON.stringify({
    chat_id: 0,
    parent_chat_id: -1,
    timestamp: 0,
    input_length: 40,
    output_length: 5,
    type: 'text',
    turn: 1,
    hash_ids: [1, 2, 3],
    ...fields,
  });
const read = (rows: readonly string[]): Trace => readBytes(rows.join('\n'), { lenient: false });

describe('a Qwen-Bailian usage trace', () => {
  it('[O111] is recognized, with times in seconds and blocks of 16 tokens of which only full ones count', () => {
    const { blockTokens, requests } = read([row({}), row({ timestamp: 61.114, chat_id: 7 })]);
    expect(blockTokens).toBe(16);
    expect(requests.map(({ atMs, blockIds }) => [atMs, blockIds])).toEqual([
      [0, [1, 2]],
      [61_114, [1, 2]],
    ]);
  });

  it('[O111] makes one session of the turns that follow from a first one, also from one before the trace began', () => {
    const chats = [
      [10, -1],
      [11, 10],
      [12, 5],
      [13, 11],
      [14, 12],
      [15, -1],
    ];
    const rows = chats.map(([chat_id, parent_chat_id]) => row({ chat_id, parent_chat_id }));
    const sessions = withSessions(read(rows)).requests.map(({ session }) => session);
    expect(sessions).toEqual(['10', '10', '5', '10', '5', '15']);
  });

  it('[O111] may be out of order, and is sorted', () => {
    const times = [2, 1, 3].map((timestamp) =>
      row({ timestamp, input_length: timestamp, hash_ids: [] }),
    );
    expect(read(times).requests.map(({ promptTokens }) => promptTokens)).toEqual([1, 2, 3]);
  });

  it('[O111] is refused with its line where it has more blocks than the prompt is long, or a field is missing', () => {
    expect(() => read([row({}), row({ input_length: 32 })])).toThrow(
      /trace:2: hash_ids has 3 ids, but 32 tokens are 2 blocks of 16/,
    );
    expect(() => read([row({ timestamp: undefined })])).toThrow(/trace:1: timestamp is missing/);
  });
});
