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

it('[G261] says that timestamps of a trace of Mooncake look like Unix seconds, which are read as milliseconds', () => {
  const notesFrom = (timestamp: number): readonly string[] => {
    const rows = [timestamp, timestamp + 1].map((at) => ({ timestamp: at, input_length: 700 }));
    const text = rows.map((row) => JSON.stringify({ ...row, output_length: 5 })).join('\n');
    return readBytes(text, { lenient: false }).notes;
  };
  const note =
    'timestamp begins at 1715299200, which was read as milliseconds: if it is a Unix time in seconds, multiply all by 1000';
  expect(notesFrom(1_715_299_200)).toEqual([note]);
  // Milliseconds since 1970, and since the trace began.
  expect(notesFrom(1_715_299_200_000)).toEqual([]);
  expect(notesFrom(86_400_000)).toEqual([]);
});

it('[G311] asks of a trace of Mooncake with more than 1,000 requests a second whether its times are seconds', () => {
  const notesOf = (requests: number, each: number): readonly string[] => {
    const rows = Array.from({ length: requests }, (_, at) => ({ timestamp: at * each }));
    const text = rows.map((row) => JSON.stringify({ ...row, input_length: 7, output_length: 5 }));
    return readBytes(text.join('\n'), { lenient: false }).notes;
  };
  expect(notesOf(60, 0.5)).toEqual([
    'timestamp ends 29.5 ms after it begins, for 60 requests: if it is in seconds, multiply all by 1000',
  ]);
  // Requests of one moment, a few, and fewer a second.
  expect([notesOf(60, 0), notesOf(10, 0.5), notesOf(60, 2)]).toEqual([[], [], []]);
});
