import { expect, test } from 'vitest';
import { estimatedOutputTokens } from '../../framework/output-estimate.ts';
import { DEFAULT_MEDIA } from '../../framework/prompt-reading.ts';
import { createOpenBody } from '../parsers/open-body.ts';

const openBody = createOpenBody({
  bodyBytesMax: 1_000_000,
  hashSeed: 7,
  prompts: () => ({ referenceText: false, media: DEFAULT_MEDIA, answerLengths: true }),
});
const CHAT = '/v1/chat/completions';
const TOOLS = [{ type: 'function', function: { name: 'f' } }];
const NAMED = { type: 'function', function: { name: 'f' } };

/** The tokens that are counted for the answer, with no bound but the client's. */
function tokensOf(fields: object | string, path = CHAT): number {
  const prompt = { messages: [{ role: 'user', content: 'hi' }], prompt: 'hi', input: 'hi' };
  const text =
    typeof fields === 'string' ? fields : JSON.stringify({ model: 'm', ...prompt, ...fields });
  const bytes = new TextEncoder().encode(text);
  const reader = openBody({ id: 'r', path, headers: new Map() });
  for (let at = 0; at < bytes.length; at += 5) reader.push(bytes.subarray(at, at + 5));
  return estimatedOutputTokens(reader.end(), {});
}

const template = (values: object, more: object = {}): object => ({
  chat_template_kwargs: values,
  ...more,
});

test.each<[string, object, number]>([
  ['no sign', {}, 1000],
  ['reasoning', template({ enable_thinking: true }), 4096],
  ['reasoning, as a text', template({ enable_thinking: 'True' }), 4096],
  ['reasoning, as a number', template({ enable_thinking: 1 }), 4096],
  ['a text that is no truth value', template({ enable_thinking: 'yes' }), 1000],
  ['reasoning beside tools', template({ enable_thinking: true }, { tools: TOOLS }), 4096],
  ['reasoning by its type', template({ thinking: { type: 'enabled' } }), 4096],
  ['no reasoning by its type', template({ thinking: { type: 'disabled' } }), 1000],
  ['a budget above 4,000', template({ thinking_budget: 4001 }), 4096],
  ['a budget of 4,000', template({ thinking_budget: 4000 }), 1000],
  ['a budget as a text', template({ reasoning_budget: '9000' }), 4096],
  ['a budget and no reasoning', template({ enable_thinking: false, thinking_budget: 9000 }), 1000],
  ['the first budget of two', template({ reasoning_budget: 9000, thinking_budget: 1 }), 1000],
  ['tools', { tools: TOOLS }, 100],
  ['no tools', { tools: [] }, 1000],
  ['tools that are not to be called', { tools: TOOLS, tool_choice: 'none' }, 1000],
  ['a tool that must be called', { tool_choice: 'required' }, 100],
  ['a named tool', { tool_choice: NAMED }, 100],
  ['the free choice of none', { tool_choice: 'auto' }, 1000],
  ['a message to be continued', { continue_final_message: true }, 100],
  ['a limit below 500', { max_tokens: 499 }, 100],
  ['a limit below the usual number', { max_tokens: 600 }, 600],
  ['a limit below 100', { max_tokens: 30 }, 30],
  ['a limit of 0', { max_tokens: 0 }, 1000],
  ['reasoning up to 499', template({ enable_thinking: true }, { max_tokens: 499 }), 100],
  ['reasoning up to 1,999', template({ enable_thinking: true }, { max_tokens: 1999 }), 1000],
  ['reasoning up to 3,000', template({ enable_thinking: true }, { max_tokens: 3000 }), 3000],
])('[D390] with outlen-bucket, an answer counts by its request: %s', (_, fields, tokens) => {
  expect(tokensOf(fields)).toBe(tokens);
});

test('[D390] signs of a chat count in chats only, the choice of a tool and the limit anywhere', () => {
  const chat = { ...template({ enable_thinking: true }), tools: TOOLS };
  expect(tokensOf(chat, '/v1/responses')).toBe(1000);
  expect(tokensOf({ tool_choice: 'required' }, '/v1/responses')).toBe(100);
  expect(tokensOf({ max_output_tokens: 20 }, '/v1/responses')).toBe(20);
  expect(tokensOf({ max_tokens: 400 }, '/v1/messages')).toBe(100);
});

test('[D390] a repeated field counts by its last value, and names in text are none', () => {
  const twice = `{"model":"m","messages":[{"role":"user","content":"\\"tools\\":[1]"}],
    "chat_template_kwargs":{"enable_thinking":true},"chat_template_kwargs":{"enable_thinking":null},
    "tools":[1],"tools":[]}`;
  expect(tokensOf(twice)).toBe(1000);
});

test('[D390] the operator’s bound holds, too', () => {
  const request = { outputTokensMax: undefined, answerLength: 'long' } as never;
  expect(estimatedOutputTokens(request, { max: 700 })).toBe(700);
});
