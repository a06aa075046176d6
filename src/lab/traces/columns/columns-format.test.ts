import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';
import type { Trace } from '../trace.ts';
import { parseColumns } from './trace-columns.ts';

const read = (text: string | Buffer, columns: string, lenient = false): Trace =>
  readBytes(text, { lenient, columns: parseColumns(columns) });
const sizesOf = (trace: Trace): readonly (readonly unknown[])[] =>
  trace.requests.map(({ atMs, promptTokens, outputTokens }) => [atMs, promptTokens, outputTokens]);
const jsonl = (...records: readonly object[]): string =>
  records.map((record) => JSON.stringify(record)).join('\n');

const NAMED = 'time_s=ts,prompt=in,output=out';
const TWO = [
  [0, 10, 20],
  [1500, 30, 40],
];

describe('[G307] a file whose columns are named', () => {
  it.each([
    ['commas', 'ts,note,in,out\n5,"a, ""b""",10,20\n6.5,,30,40\n'],
    ['semicolons', 'ts;in;out\r\n5;10;20\r\n6.5;30;40\r\n'],
    ['tabs', 'in\tnote\tout\tts\n10\t\t20\t5\n30\tx\t40\t6.5\n'],
    ['bars', 'ts|in|out\n5|10|20\n6.5|30|40\n'],
    ['a byte order mark and names in quotes', '\ufeff"ts","in","out"\n5,10.0,20\n6.5,30,40\n'],
    ['texts of several lines', 'ts,text,in,out\n5,"a\n\n""b"",\nc",10,20\n6.5,d,30,40\n'],
    ['the latest first', 'ts,in,out\n6.5,30,40\n5,10,20\n'],
  ])('is read as a table with %s', (_, text) => {
    expect(sizesOf(read(text, NAMED))).toEqual(TWO);
  });

  it.each([
    [
      'lines',
      [
        { ts: 5, in: 10, out: 20 },
        { ts: '6.5', in: '30', out: 40, more: {} },
      ],
    ],
    [
      'objects within',
      [
        { ts: 5, usage: { in: 10, out: 20 } },
        { ts: 6.5, usage: { in: 30, out: 40 } },
      ],
    ],
    [
      'names with points',
      [
        { ts: 5, 'usage.in': 10, 'usage.out': 20 },
        { ts: 6.5, 'usage.in': 30, 'usage.out': 40 },
      ],
    ],
  ])('is read as JSON, %s, an array, packed or not', (_, records) => {
    const columns = JSON.stringify(records).includes('usage')
      ? 'time_s=ts,prompt=usage.in,output=usage.out'
      : NAMED;
    const array = JSON.stringify(records);
    const texts = [jsonl(...records), array, JSON.stringify(records, undefined, 2)];
    for (const text of [...texts, gzipSync(array), zstdCompressSync(jsonl(...records))]) {
      expect(sizesOf(read(text, columns))).toEqual(TWO);
    }
  });

  it.each([
    ['time_s', '1760000005', '1760000006.5'],
    ['time_ms', '1760000005000', '1760000006500'],
    ['time_us', '1760000005000000', '1760000006500000'],
    ['time_ns', '1760000005000000000', '1760000006500000000'],
    ['time', '2026-11-29 07:00:00+00', '2026-11-29T08:00:01.5+01:00'],
  ])('has times of %s', (unit, first, second) => {
    const text = `ts,in,out\n${first},10,20\n${second},30,40\n`;
    expect(sizesOf(read(text, `${unit}=ts,prompt=in,output=out`))).toEqual(TWO);
  });

  it('may have models, sessions, priorities, fairness ids and blocks of any size', () => {
    const first = { ts: 0, in: 40, out: 1, m: 'a', chat: 7, p: -1, who: 'x', h: [1, 2 ** 60, 3] };
    const trace = read(
      jsonl(first, { ts: 1, in: 32, out: 0, m: null, h: ['u', 'v'] }),
      `${NAMED},model=m,session=chat,priority=p,fairnessId=who,blocks_16=h`,
    );
    expect(trace.blockTokens).toBe(16);
    expect(trace.requests).toMatchObject([
      { model: 'a', session: '7', priority: -1, fairnessId: 'x', outputTokens: 1 },
      { model: '', outputTokens: 1 },
    ]);
    expect(trace.requests.map(({ blockIds }) => blockIds.length)).toEqual([2, 2]);
  });

  it('leaves out what has no tokens of a prompt, and takes an empty answer for one of unknown length', () => {
    const { requests, notes } = read('ts,in,out\n1,-,-\n2,10,7\n3,0,0\n4,5,\n,,NaN\n', NAMED);
    expect(requests.map(({ outputTokens }) => outputTokens)).toEqual([7, 7]);
    expect(notes.join()).toContain('3 records, which contain no request of known size');
    expect(notes.join()).toContain('1 answer of unknown length: taken as 7 tokens, the median');
  });
});

describe('[G308] an error of named columns', () => {
  it.each([
    ['a,b\n1,2\n', NAMED, ':1: the header has no column ts, in, out; it has a, b'],
    ['ts,in,out,in\n1,2,3,4\n', NAMED, 'the column in more than once'],
    ['ts,in,out\n1,2,3,4\n', NAMED, ':2: 4 columns, but the header has 3'],
    ['ts,in,out\n2026-11-29 07:00:00,2,3\n', NAMED, 'is a date, which has no unit: write time=ts'],
    ['ts,in,out\n5,2,3\n', 'time=ts,prompt=in,output=out', 'write time_s=ts in place of time=ts'],
    ['ts,in,out\n29/Nov/2026,2,3\n', 'time=ts,prompt=in,output=out', 'is not a date such as'],
    ['ts,in,out\nsoon,2,3\n', NAMED, 'ts: "soon" is not a number of 0 or more'],
    ['ts,in,out\n1,2.5,3\n', NAMED, 'in: "2.5" is not a whole number of tokens from 1 to'],
    ['ts,in,out\n1,2,-3\n', NAMED, 'out: "-3" is not a whole number of tokens from 0 to'],
    ['ts,in,out\n1,2,"3\n', NAMED, 'a value in quotes does not end'],
    ['{"ts":1,"in":2,"usage":{"out":3}}', NAMED, 'has no out; it has ts, in, usage.out'],
    ['{"ts":1,"tokens":2}', NAMED, 'no record has the field in: the first has ts, tokens'],
    ['{"ts":1,"in":2,"out":3}\n[4]', NAMED, 'not a JSON object: "[4]"'],
    ['{"ts":1,"in":20,"out":3,"h":[1,2]}', `${NAMED},blocks_32=h`, '20 tokens are 1 blocks of 32'],
    ['{"ts":1,"in":20,"out":3,"p":"high"}', `${NAMED},priority=p`, 'p: "high" is no priority'],
    ['ts,in,out\n1790000000000,2,3\n', NAMED, 'after the year 2200: check the unit of its times'],
    ['\n', NAMED, 'is empty'],
  ])('%j with %s: %s', (text, columns, message) => {
    expect(() => read(text, columns)).toThrow(message);
  });

  it.each([
    ['time_h=a,prompt=b,output=c', '"time_h" is none of time, time_s, time_ms, time_us, time_ns'],
    ['prompt=b,output=c', 'lacks the time: one of time, time_s'],
    ['time=a,output=c', 'lacks prompt'],
    ['time=a,prompt=b', 'lacks output'],
    ['time=a,time_s=b,prompt=b,output=c', 'time is named twice'],
    ['time=,prompt=b,output=c', 'time names no column: write time=NAME'],
    ['time=a,prompt=b,output=c,blocks_0=d', '"blocks_0" is none of'],
  ])('%s: %s', (columns, message) => {
    expect(() => parseColumns(columns)).toThrow(message);
  });

  it.each([
    [
      'id,created,tok_in',
      'name its columns, which are id, created, tok_in, as by --columns time_s=',
    ],
    ['id;created;tok_in', 'which are id, created, tok_in, as by --columns'],
    ['{"at":"x","usage":{"in":3}}', 'JSON with the fields at, usage.in is of no known format'],
    ['{"timestamp":5,"prompt_tokens":3}', 'or columns with --columns'],
    [
      '{"created":5,"prompt":"Why?","tokens":3}',
      'name its columns, which are created, prompt, tokens,',
    ],
  ])('of a file %s of no known format proposes them: %s', (text, message) => {
    expect(() => readBytes(text, { lenient: false })).toThrow(message);
  });
});
