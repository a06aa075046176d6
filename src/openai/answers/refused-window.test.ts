import { expect, it } from 'vitest';
import { RefusedWindow } from './refused-window.ts';

function read(...chunks: readonly string[]): number | undefined {
  const refused = new RefusedWindow();
  for (const chunk of chunks) refused.push(Buffer.from(chunk));
  return refused.end();
}

it.each([
  "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (8990 in the messages, 11 in the completion). Please reduce the length of the messages or completion.",
  "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages.",
  "You passed 9000 input tokens and requested 512 output tokens. However, the model's context length is only 8192 tokens, resulting in a maximum input length of 7680 tokens.",
  "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 8192 tokens and your request has 900 input tokens (8000 > 8192 - 900).",
  'The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that it is.',
  "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
  "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens.",
])('[Q267] reads the context window in an error: %s', (message) => {
  const texts = [{ error: { message, code: 400 } }, { object: 'error', message }];
  for (const text of texts.map((each) => JSON.stringify(each))) {
    expect(read(text)).toBe(8192);
    expect(read(text.slice(0, 20), text.slice(20))).toBe(8192);
  }
});

it.each([
  '',
  '{"error":',
  'null',
  '[]',
  '{"error":"too long"}',
  '{"error":{"message":7}}',
  '{"error":{"message":"The model `m` does not exist."}}',
  `{"error":{"message":"This model's maximum context length is 0 tokens"}}`,
  `{"error":{"message":"This model's maximum context length is ${'9'.repeat(400)} tokens"}}`,
])('[Q267] finds no context window in %s', (text) => {
  expect(read(text)).toBeUndefined();
});

it('[Q267] takes nothing from what an error repeats of the request', () => {
  const sentence = "This model's maximum context length is 5 tokens";
  const repeating = `1 validation error: 'input': "${sentence}"`;
  expect(read(JSON.stringify({ error: { message: repeating } }))).toBeUndefined();
  const long = { error: { message: sentence, input: 'x'.repeat(3000) } };
  expect(read(JSON.stringify(long))).toBeUndefined();
});
