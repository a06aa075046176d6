import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { stubPoolForTests } from './stub-pool.ts';

/** APIs beside completions, each with the official client where there is one. */

const stub = stubPoolForTests();
const openai = (): OpenAI =>
  new OpenAI({ baseURL: stub.url('/v1'), apiKey: 'none', maxRetries: 0 });
const anthropic = (): Anthropic =>
  new Anthropic({ baseURL: stub.url(''), apiKey: 'none', maxRetries: 0 });
const PROMPT = 'A prompt of some length, which fills several blocks of the cache. '.repeat(20);
const PARAMETERS = {
  type: 'object' as const,
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 5 } },
  required: ['city', 'days'],
};

async function post<T>(path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  return (await (await fetch(stub.url(path), init)).json()) as T;
}

describe('the Responses API', () => {
  it('answers whole, says when the limit cut the answer, and reports what was cached', async () => {
    const request = { model: 'm', input: PROMPT, max_output_tokens: 3 };
    const first = await openai().responses.create(request);
    expect(first.output_text).toHaveLength(12);
    expect([first.status, first.incomplete_details?.reason]).toEqual([
      'incomplete',
      'max_output_tokens',
    ]);
    const { usage } = await openai().responses.create(request);
    expect(usage?.input_tokens_details.cached_tokens).toBeGreaterThan(200);
    expect(usage?.total_tokens).toBe((usage?.input_tokens ?? 0) + 3);
  });

  it('streams the same as events of its own types, numbered from 0', async () => {
    const request = { model: 'm', input: 'hello', max_output_tokens: 20, seed: 5 };
    const whole = await openai().responses.create(request);
    const stream = await openai().responses.create({ ...request, stream: true });
    const types: string[] = [];
    let text = '';
    let last = -1;
    for await (const event of stream) {
      expect(event.sequence_number).toBe(last + 1);
      last = event.sequence_number;
      if (event.type === 'response.output_text.delta') text += event.delta;
      else types.push(event.type);
      if (event.type === 'response.completed' || event.type === 'response.incomplete')
        expect(event.response.usage?.output_tokens).toBe(whole.usage?.output_tokens);
    }
    expect(text).toBe(whole.output_text);
    expect(types.slice(0, -1)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
    ]);
  });

  it('calls a function, whole and streamed, and takes its result back', async () => {
    const tools = [
      { type: 'function' as const, name: 'weather', strict: false, parameters: PARAMETERS },
    ];
    const request = { model: 'm', input: 'How is the weather?', tools, seed: 9 };
    const asked = { ...request, tool_choice: 'required' as const };
    const { output } = await openai().responses.create(asked);
    const [call] = output;
    if (call?.type !== 'function_call') throw new Error(`it answered ${JSON.stringify(call)}`);
    expect(JSON.parse(call.arguments)).toMatchObject({ city: expect.any(String) });
    let streamed = '';
    for await (const event of await openai().responses.create({ ...asked, stream: true }))
      if (event.type === 'response.function_call_arguments.delta') streamed += event.delta;
    expect(streamed).toBe(call.arguments);
    const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'rain' };
    const input = [{ role: 'user' as const, content: 'How is the weather?' }, call, result];
    const after = await openai().responses.create({ model: 'm', input, max_output_tokens: 2 });
    expect(after.usage?.output_tokens).toBe(2);
  });

  it('has no response of before', async () => {
    const request = { model: 'm', input: 'go on', previous_response_id: 'resp_1' };
    await expect(openai().responses.create(request)).rejects.toMatchObject({ status: 404 });
  });
});

describe('the Messages API', () => {
  const messages = [{ role: 'user' as const, content: PROMPT }];

  it('answers whole and reports what was cached', async () => {
    const request = { model: 'm', max_tokens: 4, system: 'Be brief.', messages };
    const first = await anthropic().messages.create(request);
    expect(first).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'max_tokens' });
    const { usage } = await anthropic().messages.create(request);
    expect(usage.cache_read_input_tokens).toBeGreaterThan(200);
    expect(usage.output_tokens).toBe(4);
  });

  it('streams the same, by the client’s own accumulation', async () => {
    const request = { model: 'm', max_tokens: 30, messages, seed: 3 };
    const whole = await anthropic().messages.create(request);
    const streamed = await anthropic().messages.stream(request).finalMessage();
    expect(streamed.content).toEqual(whole.content);
    expect(streamed.stop_reason).toBe(whole.stop_reason);
    expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens);
  });

  it('calls a tool, whole and streamed, and takes its result back', async () => {
    const tools = [{ name: 'weather', input_schema: PARAMETERS }];
    const tool_choice = { type: 'tool' as const, name: 'weather' };
    const request = { model: 'm', max_tokens: 100, messages, tools, tool_choice, seed: 4 };
    const { content, stop_reason: reason } = await anthropic().messages.create(request);
    const streamed = await anthropic().messages.stream(request).finalMessage();
    expect(reason).toBe('tool_use');
    expect(content).toMatchObject([
      { type: 'tool_use', name: 'weather', input: { days: expect.any(Number) } },
    ]);
    const inputs = [content, streamed.content].map(([block]) =>
      block?.type === 'tool_use' ? block.input : undefined,
    );
    expect(inputs[1]).toEqual(inputs[0]);
    const [call] = content;
    const id = call?.type === 'tool_use' ? call.id : '';
    const result = { type: 'tool_result' as const, tool_use_id: id, content: 'rain' };
    const turns = [
      ...messages,
      { role: 'assistant' as const, content },
      { role: 'user' as const, content: [result] },
    ];
    const after = await anthropic().messages.create({
      model: 'm',
      max_tokens: 2,
      messages: turns,
      tools,
    });
    // All of the first prompt and its answer are in the cache.
    expect(after.usage.cache_read_input_tokens).toBeGreaterThan(300);
  });

  it('counts tokens as it counts them in an answer', async () => {
    const { input_tokens: counted } = await anthropic().messages.countTokens({
      model: 'm',
      messages,
    });
    const { usage } = await anthropic().messages.create({ model: 'm', max_tokens: 1, messages });
    expect(counted).toBe(usage.input_tokens);
  });

  it('refuses a request without max_tokens', async () => {
    expect(await post('/v1/messages', { model: 'm', messages })).toMatchObject({
      type: 'error',
      error: { type: 'BadRequestError', message: expect.stringMatching(/^max_tokens: /) as string },
    });
  });
});

interface Tokens {
  readonly choices: readonly { readonly token_ids: readonly number[]; finish_reason: string }[];
  readonly usage: { readonly prompt_tokens: number };
}

describe('token ids in and out', () => {
  it('render gives the ids that generate takes and a chat has', async () => {
    const chat = {
      model: 'm',
      messages: [{ role: 'user', content: PROMPT }],
      max_tokens: 5,
      ignore_eos: true,
      seed: 1,
    };
    const rendered = await post<{ token_ids: readonly number[] }>(
      '/v1/chat/completions/render',
      chat,
    );
    const { count } = await post<{ count: number }>('/tokenize', chat);
    expect(rendered.token_ids).toHaveLength(count);
    const generated = await post<Tokens>('/inference/v1/generate', rendered);
    expect(generated.usage.prompt_tokens).toBe(count);
    expect(generated.choices[0]?.token_ids).toHaveLength(5);
    expect(generated.choices[0]?.finish_reason).toBe('length');
    const { choices } = await openai().chat.completions.create({
      ...chat,
      messages: [{ role: 'user', content: PROMPT }],
    });
    const { prompt } = await post<{ prompt: string }>('/detokenize', {
      tokens: generated.choices[0]?.token_ids ?? [],
    });
    expect(prompt).toBe(choices[0]?.message.content);
  });

  it('render of a completion gives one request for each prompt', async () => {
    const body = { model: 'm', prompt: ['one', 'two and more'] };
    const rendered = await post<readonly { token_ids: number[] }[]>('/v1/completions/render', body);
    expect(rendered.map(({ token_ids: ids }) => ids.length)).toEqual([1, 3]);
  });

  it('streams ids, with the usage last', async () => {
    const body = {
      token_ids: [1, 2, 3],
      sampling_params: { max_tokens: 4, ignore_eos: true },
      stream: true,
    };
    const init = { method: 'POST', body: JSON.stringify(body) };
    const text = await (await fetch(stub.url('/inference/v1/generate'), init)).text();
    const events = text
      .split('\n\n')
      .filter(Boolean)
      .map((line) => line.slice('data: '.length));
    expect(events.pop()).toBe('[DONE]');
    const chunks = events.map((each) => JSON.parse(each) as Tokens);
    expect(chunks.flatMap(({ choices: [choice] }) => choice?.token_ids ?? [])).toHaveLength(4);
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 4 });
  });
});
