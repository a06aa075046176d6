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
});
