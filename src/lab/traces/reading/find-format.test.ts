import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';

const sizesOf = (text: string): readonly (readonly number[])[] =>
  readBytes(text, { lenient: false }).requests.map(({ atMs, promptTokens, outputTokens }) => [
    atMs,
    promptTokens,
    outputTokens,
  ]);

describe('the format of a trace', () => {
  it('[G197] may be the CSV of Splitwise’s simulator, or that of Vidur and Sarathi-Serve', () => {
    const splitwise =
      'request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,2,0,0.0,1,374,44\n1,2,0,4.25,1,396,109\n';
    const vidur = 'arrived_at,num_prefill_tokens,num_decode_tokens\n0,374,44\n4.25,396,109\n';
    for (const text of [splitwise, vidur]) {
      expect(sizesOf(text)).toEqual([
        [0, 374, 44],
        [4250, 396, 109],
      ]);
    }
  });

  it('[G300] may be what multi-round-qa saved of each user’s requests', () => {
    const header =
      'prompt_tokens,generation_tokens,ttft,generation_time,user_id,question_id,launch_time,finish_time';
    const rows = [
      '90,20,0.2,3.5,1,1,1760000000.5,1760000004',
      '30,20,0.2,3.5,2,1,1760000000.25,1760000004',
    ];
    const { requests } = readBytes([header, ...rows].join('\n'), { lenient: false });
    expect(
      requests.map(({ atMs, promptTokens, session }) => [atMs, promptTokens, session]),
    ).toEqual([
      [0, 30, '2'],
      [250, 90, '1'],
    ]);
  });

  const conversations = [{ id: 'a', conversations: [{ from: 'human', value: 'Why?' }] }];
  it.each([
    ['ShareGPT', JSON.stringify(conversations)],
    ['ShareGPT over many lines', JSON.stringify(conversations, undefined, 2)],
    ['LMSYS', '{"conversation_id":"a","model":"m","conversation":[{"content":"Why?"}]}'],
    ['WildChat', '{"timestamp":"2023-04-09 00:02:53+00:00","conversation":[{"content":"Why?"}]}'],
    ['a benchmark’s own set', '{"prompt": "Why?", "output_tokens": 12}\n{"prompt": "Who?"}'],
  ])('[G198] %s is said to be texts, and what a trace has beside them', (_name, text) => {
    expect(() => readBytes(text, { lenient: false })).toThrow(
      /:1: these are texts, .*when each request came and how many tokens/,
    );
  });

  const experiment = { requests: [{ timestamp: 5e18, response_timestamps: [6e18] }] };
  const totals = { input_config: {}, request_latency: { unit: 'ms', avg: 5 } };
  it.each([
    ['GenAI-Perf', { service_kind: 'openai', experiments: [experiment] }, 'GenAI-Perf'],
    ['AIPerf’s totals', { ...totals, error_summary: [] }, 'profile_export.jsonl has each request'],
  ])(
    '[G275] says what to give in place of a result of %s, on one line or many',
    (_, result, said) => {
      for (const spaces of [undefined, 2]) {
        const text = JSON.stringify(result, undefined, spaces);
        expect(() => readBytes(text, { lenient: false })).toThrow(said);
      }
    },
  );

  it('[G207] does not take a log in text, as Envoy writes it, for a JSON array', () => {
    const log = '[2026-11-29T07:00:00.000Z] "POST /v1/completions HTTP/1.1" 200 - 812 3400 950\n';
    expect(() => readBytes(log, { lenient: false })).toThrow(
      /:1: "\[2026-11-29T07:00:00.*is neither JSON of objects nor a known CSV header/,
    );
  });

  it('[G198] names the fields of JSON that no format has; a damaged line of Mooncake’s stays one', () => {
    const log = '{"start_time":"2024-05-18T02:40:00Z","method":"POST","bytes_sent":3400}';
    expect(() => readBytes(log, { lenient: false })).toThrow(
      ':1: JSON with the fields start_time, method, bytes_sent is of no known format: ',
    );
    expect(() => readBytes('{"timestamp": 5}', { lenient: false })).toThrow(
      'input_length is missing; it was read as mooncake',
    );
  });

  const header = 'TIMESTAMP,ContextTokens,GeneratedTokens';
  it.each([
    ['PAR1\0\0', 'this is Parquet, which is not read: write it as JSON Lines'],
    ['ARROW1\0', 'this is Arrow'],
    ['PK\x03\x04', 'this is a zip archive: unpack it with unzip'],
    ['BZh9', 'this is packed by bzip2: unpack it with bunzip2'],
    [Buffer.from(`\ufeff${header}`, 'utf16le'), 'this is UTF-16: convert it with iconv'],
    [Buffer.from('fd377a585a00', 'hex'), 'this is packed by xz: unpack it with unxz'],
    ['azure.csv\0\0ustar', 'is no text, as it has bytes of 0: an archive such as tar'],
    ['<!DOCTYPE html>', 'is HTML or XML'],
    ['version https://git-lfs.github.com/spec/v1', 'is a pointer of Git LFS'],
    ['[]', 'is an empty array'],
    ['{}', 'is an empty object'],
    [header.toLowerCase(), 'write the columns of azure in the same letters'],
    [header.replaceAll(',', ';'), 'azure separates its columns by commas'],
    ['2023-11-16 18:15:46.68,374,44', 'put a line with the names of the columns above it'],
    ['id,created,tokens', 'write for each request a line such as {"timestamp": 0, "input_length"'],
    ['{"time":"x","tokens":3}', 'write for each request a line such as {"timestamp": 0'],
    ['{"metadata":{},"benchmarks":[]}', 'there is no request in the whole trace'],
    ['{\n"metadata":{},\n"benchmarks":[]}', 'there is no request in the whole trace'],
    ['{"input_lens":[1],"output_lens":[2]}', 'has no start_times'],
    ['{"mean_ttft_ms":1,"total_input_tokens":2}', 'has the totals alone'],
    ['{"custom_id":"a","response":{}}', 'these are answers of a batch'],
    [`${header}\n1715299200,1,2`, 'TIMESTAMP: "1715299200" is not a time such as 2023-11-16'],
    [`${header}\n2024-05-10 00:00:00,1.5,2`, '"1.5" is not a whole number of tokens from 1 to'],
    ['{"timestamp":1750000000000000,"input_length":1,"output_length":1}', 'after the year 2200'],
    [
      `${header},ContextTokens\n2024-05-10 00:00:00,1,2,3`,
      'has the column ContextTokens more than',
    ],
    [`${header},note\n2024-05-10 00:00:00,1,2,"a\nb"`, ':2: a value in quotes does not end on its'],
    ['arrived_at,num_prefill_tokens,num_decode_tokens\n0x10,1,2', '"0x10" is not a number of'],
    ['{"timestamp":0,"input_length":1e30}', 'input_length is 1e+30: must be at most 20000000'],
  ])('[O469] %j is answered by what it is, and what to do', (text, message) => {
    const read = (): unknown => readBytes(text, { lenient: false });
    expect(read).toThrow(message);
    expect(read).not.toThrow('read as otel');
  });
});
