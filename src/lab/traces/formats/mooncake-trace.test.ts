import { expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';

it('[G184] a field that is null in a trace of Mooncake is as one that is not there', () => {
  const nothing = { hash_ids: null, session_id: null, delay: null };
  const rows = [
    { timestamp: 0, input_length: 700, output_length: 5, ...nothing },
    { timestamp: 20, input_length: 700, output_length: null, ...nothing },
  ];
  const text = rows.map((row) => JSON.stringify(row)).join('\n');
  const { requests } = readBytes(text, { lenient: false });
  const sizes = { model: '', promptTokens: 700, outputTokens: 5, blockIds: [] };
  expect(requests).toEqual([
    { atMs: 0, ...sizes },
    { atMs: 20, ...sizes },
  ]);
  const undated = JSON.stringify({ timestamp: null, input_length: 700 });
  expect(() => readBytes(undated, { lenient: false })).toThrow(/trace:1: timestamp is missing/);
});
