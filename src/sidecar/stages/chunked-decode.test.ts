import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { checkedObject } from '../../../test/support/sidecar/checked-object.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import type { EngineAnswer } from '../answers/engine-answer.ts';
import { chunkedDecode } from './chunked-decode.ts';

const HEADERS: IncomingHttpHeaders = { 'content-type': 'application/json', 'x-pod': 'p' };

/** An engine that says a word per token, and records what it is asked. */
function engineOf(words: readonly string[], fault: Readonly<Record<number, number>> = {}) {
  const asked: Record<string, unknown>[] = [];
  let at = 0;
  const ask = async ({ bytes }: JsonObject): Promise<EngineAnswer> => {
    const request = JSON.parse(bytes.toString()) as Record<string, unknown>;
    asked.push(request);
    const status = fault[asked.length];
    const tokens = Math.min(Number(request['max_tokens']), words.length - at);
    const content = words.slice(at, at + tokens).join('');
    at += tokens;
    const finish_reason = at === words.length ? 'stop' : 'length';
    const answer = {
      id: `chatcmpl-${asked.length}`,
      object: 'chat.completion',
      created: 7,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason }],
      usage: { prompt_tokens: 5 + at, completion_tokens: tokens, total_tokens: 5 + at + tokens },
    };
    const text = status === undefined ? JSON.stringify(answer) : '{"error":{}}';
    const pieces = Readable.from([Buffer.from(text)], { objectMode: false });
    return { statusCode: status ?? 200, headers: HEADERS, body: pieces };
  };
  return { ask, asked };
}

const CHAT = {
  messages: [{ role: 'user', content: 'Hi' }],
  max_completion_tokens: 100,
  kv_transfer_params: { a: 1 },
};
const bodyOf = (extra: object = {}): JsonObject =>
  checkedObject(JSON.stringify({ ...CHAT, ...extra }));
const textOf = async (answer: EngineAnswer | undefined): Promise<string> =>
  Buffer.concat(await (answer?.body ?? Readable.from([])).toArray()).toString();

it('[B74] each piece continues the answer so far, and the whole is one answer', async () => {
  const { ask, asked } = engineOf(['a', 'b', 'c', 'd', 'e']);
  const answer = await chunkedDecode(bodyOf(), 2, ask);
  expect(JSON.parse(await textOf(answer))).toEqual({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 7,
    choices: [
      { index: 0, message: { role: 'assistant', content: 'abcde' }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
  });
  expect(asked.map(({ max_tokens }) => max_tokens)).toEqual([2, 2, 2]);
  expect(asked[0]).toMatchObject({ kv_transfer_params: { a: 1 }, stream: false });
  expect(asked[2]).toEqual({
    messages: [...CHAT.messages, { role: 'assistant', content: 'abcd' }],
    max_completion_tokens: 2,
    max_tokens: 2,
    stream: false,
    continue_final_message: true,
    add_generation_prompt: false,
  });
  expect(answer?.headers['x-pod']).toBe('p');
});

it('[B74] a stream has one event per piece, with one id and one end', async () => {
  const { ask } = engineOf(['a', 'b', 'c']);
  const extra = { stream: true, stream_options: { include_usage: true } };
  const text = await textOf(await chunkedDecode(bodyOf(extra), 2, ask));
  const events = text.split('\n\n').filter(Boolean);
  expect(events.at(-1)).toBe('data: [DONE]');
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 7 };
  expect(events.slice(0, -1).map((each) => JSON.parse(each.slice(6)) as unknown)).toEqual([
    {
      ...head,
      choices: [{ index: 0, delta: { role: 'assistant', content: 'ab' }, finish_reason: null }],
    },
    { ...head, choices: [{ index: 0, delta: { content: 'c' }, finish_reason: 'stop' }] },
    {
      ...head,
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    },
  ]);
});

it('[B74] the bound of the client holds over all pieces', async () => {
  const { ask, asked } = engineOf(['a', 'b', 'c', 'd', 'e', 'f']);
  const answer = await chunkedDecode(bodyOf({ max_completion_tokens: 5 }), 2, ask);
  expect(await textOf(answer)).toContain('"abcde"');
  expect(asked.map(({ max_tokens }) => max_tokens)).toEqual([2, 2, 1]);
});

it.each([
  { max_completion_tokens: 2 },
  { max_completion_tokens: undefined, max_tokens: 1 },
  { n: 2 },
  { min_tokens: 3 },
  { tools: [{}] },
  { logprobs: true },
  { response_format: { type: 'json_object' } },
])('[B75] %j is decoded in one piece', async (extra) => {
  const { ask, asked } = engineOf(['a']);
  expect(await chunkedDecode(bodyOf(extra), 2, ask)).toBeUndefined();
  expect(asked).toEqual([]);
});

it('[B75] an error at the first piece is the answer, a later one breaks it off', async () => {
  const first = await chunkedDecode(bodyOf(), 2, engineOf(['a'], { 1: 400 }).ask);
  expect([first?.statusCode, await textOf(first)]).toEqual([400, '{"error":{}}']);
  const later = await chunkedDecode(bodyOf(), 1, engineOf(['a', 'b'], { 2: 500 }).ask);
  await expect(textOf(later)).rejects.toThrow('answered 500 within a chunked answer');
});

it('[V137] an engine that never ends its answer cannot take all memory', async () => {
  const { ask, asked } = engineOf(Array.from({ length: 50 }, () => 'x'.repeat(4 * 1024 * 1024)));
  const answer = await chunkedDecode(bodyOf(), 1, ask);
  await expect(textOf(answer)).rejects.toThrow('characters in all');
  expect(asked).toHaveLength(5);
});

it('[V154] an engine that says nothing and does not end is not asked for ever', async () => {
  const { ask, asked } = engineOf(Array.from({ length: 500 }, () => ''));
  const answer = await chunkedDecode(bodyOf(), 1, ask);
  await expect(textOf(answer)).rejects.toThrow('pieces without text');
  expect(asked.length).toBeLessThan(100);
});
