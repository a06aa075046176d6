import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';
import type { Trace } from '../trace.ts';
import { type ReadOptions, readTrace } from './read-trace.ts';

const read = (text: string | Buffer, lenient = false): Trace => readBytes(text, { lenient });

const mooncake = (timestamp: number, input = 700, ids: readonly number[] = [1, 2]): string =>
  JSON.stringify({ timestamp, input_length: input, output_length: 5, hash_ids: ids });

describe('readTrace', () => {
  it('reads Mooncake’s JSON Lines, without the block that is not full, from time 0', () => {
    const { blockTokens, requests } = read(`${mooncake(100)}\n${mooncake(350, 1024)}\n`);
    expect(blockTokens).toBe(512);
    expect(requests).toEqual([
      { atMs: 0, model: '', promptTokens: 700, outputTokens: 5, blockIds: [1] },
      { atMs: 250, model: '', promptTokens: 1024, outputTokens: 5, blockIds: [1, 2] },
    ]);
  });

  it('[G182] reads Azure’s CSV of 2025, which has a column of images', () => {
    const header = 'TIMESTAMP,NumImages,ContextTokens,GeneratedTokens';
    const text = `${header}\n2024-10-15 17:45:46.680590,2,1474,4\n`;
    const [request] = readBytes(text, { lenient: false }).requests;
    expect(request).toMatchObject({ promptTokens: 1474, outputTokens: 4 });
  });

  it('reads Azure’s CSV to the fraction of a millisecond', () => {
    const { requests } = read(
      'TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,0\r\n',
    );
    expect(requests[1]?.atMs).toBeCloseTo(4314.579, 3);
    expect(requests.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens])).toEqual([
      [374, 44],
      [396, 1],
    ]);
  });

  it('[G262] a column without a name, as pandas writes its index, is no model and no session', () => {
    const header = ',TIMESTAMP,ContextTokens,GeneratedTokens';
    const rows = '0,2023-11-16 18:15:46.68,374,44\n1,2023-11-16 18:15:46.78,396,44\n';
    const { requests } = read(`${header}\n${rows}`);
    expect(requests.map(({ model, session }) => [model, session])).toEqual([
      ['', undefined],
      ['', undefined],
    ]);
  });

  it('reads BurstGPT’s CSV, whatever the order of its columns', () => {
    const { requests } = read(
      'Model,Timestamp,Request tokens,Response tokens,Total tokens,Log Type\nGPT-4,5,472,18,490,Conversation log\nChatGPT,45,10,20,30,API log\n',
    );
    expect(requests).toEqual([
      { atMs: 0, model: 'GPT-4', promptTokens: 472, outputTokens: 18, blockIds: [] },
      { atMs: 40_000, model: 'ChatGPT', promptTokens: 10, outputTokens: 20, blockIds: [] },
    ]);
  });

  it.each([
    ['mooncake', '{"timestamp":5,"body":{}}'],
    ['inference-perf', '[{"id":"a","results":[]}]'],
  ])('[V286] says that it read a file of another kind as %s', (format, text) => {
    expect(() => read(text)).toThrow(`it was read as ${format}: name another format with --from`);
    // Named, or known by the records before, it is no guess.
    expect(() => readBytes(text, { lenient: false, from: format })).not.toThrow('it was read as');
  });

  it('[O411] says how to make lines of a trace that is one JSON array', () => {
    const array = `[${mooncake(0)},\n${mooncake(1)}]`;
    expect(() => read(array)).toThrow("as most formats have one object on each (jq -c '.[]')");
    expect(() => read('{"custom_id":"1","body":{}}')).not.toThrow('jq');
  });

  it('[V286] takes the format for right once a record has fitted', () => {
    expect(() => read(`${mooncake(0)}\n{}`)).not.toThrow('it was read as');
  });

  it('[O392] refuses what is no file, such as a pipe, because a simulation reads a trace more than once', () => {
    for (const path of ['/dev/zero', '/dev/null']) {
      expect(() => readTrace(path, { lenient: false })).toThrow(
        /neither a file nor a folder, and a trace may be read more than once: write it into a file/,
      );
    }
  });

  it('[G263] reads no further than the first requests that are asked for, where they are in order', () => {
    const text = `${[0, 10, 20, 30].map((at) => mooncake(at)).join('\n')}\nno request`;
    const first = (options: Partial<ReadOptions>): number =>
      readBytes(text, { lenient: false, enough: 2, ...options }).requests.length;
    expect(first({})).toBe(2);
    // What is sorted may come from anywhere, as may a turn that waits for an answer.
    expect(first({ lenient: true })).toBe(4);
    expect(() => first({ enough: 5 })).toThrow('trace:5: not JSON');
    const turn = JSON.stringify({ timestamp: 5, delay: 5, input_length: 700, output_length: 5 });
    expect(() => readBytes(`${turn}\n${text}`, { lenient: false, enough: 1 })).toThrow('trace:6');
  });

  it('reads what zstd has packed', () => {
    const { requests } = read(zstdCompressSync(Buffer.from(mooncake(0))));
    expect(requests).toHaveLength(1);
  });

  it.each([
    [
      'an unknown format',
      'a,b,c\n1,2,3\n',
      /\/trace:1: "a,b,c" is neither .* known CSV header.* docs\/trace-format\.md/,
    ],
    ['nothing at all', '', /\/trace:1: /],
    ['a header and no request', 'TIMESTAMP,ContextTokens,GeneratedTokens\n', /no request/],
    ['text that is not JSON', `${mooncake(0)}\n{"timestamp":`, /\/trace:2: not JSON/],
    ['a negative time', mooncake(-1), /\/trace:1: timestamp/],
    ['a prompt of nothing', mooncake(0, 0), /\/trace:1: input_length/],
    ['too few block ids', mooncake(0, 5000), /\/trace:1: hash_ids has 2 ids, but 5000 tokens/],
    [
      'a request out of order',
      `${mooncake(9)}\n\n${mooncake(3)}`,
      /\/trace:3: at 3 ms, 6 ms before a request above/,
    ],
    [
      'a CSV line cut short',
      'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,374,44\n2023-11-16 18:15',
      /\/trace:3: 1 columns/,
    ],
    [
      'negative tokens',
      'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,-5,44\n',
      /\/trace:2: ContextTokens: "-5"/,
    ],
    [
      'a time that is none',
      'Timestamp,Request tokens,Response tokens\nnoon,5,5\n',
      /\/trace:2: Timestamp: "noon"/,
    ],
  ])('refuses %s and says where', (_what, text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  it('refuses bytes that are not UTF-8, or a damaged archive, and says where', () => {
    const bad = Buffer.concat([Buffer.from(`${mooncake(0)}\n`), Buffer.from([0x7b, 0xff, 0xfe])]);
    expect(() => read(bad)).toThrow(/\/trace:2: not UTF-8/);
    const packed = zstdCompressSync(Buffer.from(mooncake(0)));
    expect(() => read(packed.subarray(0, packed.length - 4))).toThrow(/damaged zstd/);
  });

  it.each([
    [
      'a line as long as a film',
      '9'.repeat(65 * 1024 * 1024),
      /\/trace:2: 68157440 bytes, more than/,
    ],
    ['more tokens than there are', mooncake(0, 20_000_001), /\/trace:2: input_length/],
    [
      'a time in another age',
      mooncake(1e14),
      /\/trace:2: at 100000000000000 ms, more than two years .*: check the unit of its times/,
    ],
    ['a number beyond numbers', mooncake(0).replace('700', '1e999'), /\/trace:2: input_length/],
    ['a line of zeros', '\0'.repeat(9), /\/trace:2: not JSON/],
  ])('refuses %s and says where, or leaves it out and counts it', (_what, bad, message) => {
    const text = [mooncake(0), bad, mooncake(7)].join('\n');
    expect(() => read(text)).toThrow(message);
    const { requests, repaired } = read(text, true);
    expect([requests.length, repaired]).toEqual([2, 1]);
  });

  it('leaves out what is bad and sorts what is out of order when configured to, and counts both', () => {
    const lines = [mooncake(10), 'not a request', mooncake(5), mooncake(20, 5000)];
    const { requests, repaired, notes } = read(lines.join('\n'), true);
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 5]);
    expect(repaired).toBe(3);
    expect(notes).toEqual([
      'lines left out: 2; the first, line 2: not JSON: "not a request"',
      'requests sorted into order: 1',
    ]);
  });

  it('[O321] says why there is no request where each line was left out', () => {
    expect(() => read('[{"id":"a"}]', true)).toThrow(
      'there is no request in the whole trace; lines left out: 1; the first, line 1: start_time is missing',
    );
    const spans = [{ startTimeUnixNano: '1' }, { startTimeUnixNano: '2' }];
    const batch = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
    expect(() => read(batch)).toThrow(
      'no request in the whole trace; left out: 2 records, which contain no request of known size',
    );
  });

  it('[O322] reads CSV as pandas and R write it again: quoted, whole numbers with a point, offsets of times', () => {
    const { requests } = read(
      [
        '"","TIMESTAMP","ContextTokens","GeneratedTokens"',
        '"1","2024-05-10 00:00:00.5+00:00",374.0,44.0',
        '"2","2024-05-10 02:00:01+02:00","396","7"',
      ].join('\n'),
    );
    expect(
      requests.map(({ atMs, promptTokens, outputTokens }) => [atMs, promptTokens, outputTokens]),
    ).toEqual([
      [0, 374, 44],
      [500, 396, 7],
    ]);
    const header = 'TIMESTAMP,ContextTokens,GeneratedTokens';
    expect(() => read(`${header}\n2024-05-10 00:00:00,3.7,5`)).toThrow(/ContextTokens: "3.7"/);
    expect(() => read(`${header}\n2024-05-10 00:00:00,3,`)).toThrow(/GeneratedTokens: "" is not/);
  });
});
