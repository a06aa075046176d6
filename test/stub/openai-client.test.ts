import OpenAI, { APIError } from 'openai';
import { describe, expect, it } from 'vitest';
import { stubPoolForTests } from './stub-pool.ts';

const stub = stubPoolForTests();
const client = (): OpenAI =>
  new OpenAI({ baseURL: stub.url('/v1'), apiKey: 'none', maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'Tell me of the sea. '.repeat(20) }];
const TOOL = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'The weather somewhere',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        unit: { enum: ['celsius', 'fahrenheit'] },
        days: { type: 'integer', minimum: 1, maximum: 5 },
      },
      required: ['city', 'unit', 'days'],
    },
  },
};

describe('the official openai client against the stub', () => {
  it('chats', async () => {
    const answer = await client().chat.completions.create({ model: 'm', messages, max_tokens: 12 });
    const [choice] = answer.choices;
    expect(choice?.message.content).toHaveLength(4 * (answer.usage?.completion_tokens ?? 0));
    expect(['length', 'stop']).toContain(choice?.finish_reason);
    expect(answer.usage?.prompt_tokens).toBeGreaterThan(90);
    expect(answer.id).toMatch(/^chatcmpl-/);
  });

  it('streams a chat, usage last, and gets the same text for the same seed', async () => {
    const streamed = async (): Promise<{ text: string; tokens: number | undefined }> => {
      const stream = await client().chat.completions.create({
        model: 'm',
        messages,
        seed: 7,
        max_completion_tokens: 20,
        stream: true,
        stream_options: { include_usage: true },
      });
      let text = '';
      let tokens: number | undefined;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
        tokens = chunk.usage?.completion_tokens ?? tokens;
      }
      return { text, tokens };
    };
    const first = await streamed();
    expect(first.text).toHaveLength(4 * (first.tokens ?? 0));
    expect(await streamed()).toEqual(first);
  });

  it('[O337] names the stop string that ended an answer, whole and streamed, as vLLM does', async () => {
    const asked = { model: 'm', messages, stop: ['e', ' '], seed: 3, max_tokens: 200 };
    const whole = await client().chat.completions.create(asked);
    const { choices } = whole;
    expect(choices[0]).toMatchObject({
      finish_reason: 'stop',
      stop_reason: expect.stringMatching(/^(e| )$/),
    });
    const stream = await client().chat.completions.create({ ...asked, stream: true });
    const ends: unknown[] = [];
    for await (const chunk of stream) {
      const [choice] = chunk.choices;
      if (choice?.finish_reason) ends.push({ ...choice, delta: undefined });
    }
    const { stop_reason } = { stop_reason: undefined, ...choices[0] };
    expect(ends).toMatchObject([{ finish_reason: 'stop', stop_reason }]);
  });

  it('[O337] says the usage so far in each chunk of a stream, where both options ask for it', async () => {
    const usages = async (include_usage: boolean): Promise<readonly unknown[]> => {
      const options = { include_usage, continuous_usage_stats: true };
      const asked = { model: 'm', prompt: 'a prompt', max_tokens: 3, ignore_eos: true };
      const stream = await client().completions.create({
        ...asked,
        stream: true,
        stream_options: options,
      });
      const seen: unknown[] = [];
      for await (const { usage } of stream) {
        seen.push(usage && [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]);
      }
      return seen;
    };
    const all = await usages(true);
    expect(all.at(-1)).toEqual([2, 3, 5]);
    expect(all.at(0)).toEqual([2, 1, 3]);
    expect(all).not.toContain(undefined);
    expect((await usages(false)).filter((each) => each !== undefined)).toEqual([]);
  });

  it('reports what the prefix cache had', async () => {
    const content = 'A prompt that no other client has sent. '.repeat(30);
    const ask = () =>
      client().chat.completions.create({
        model: 'm',
        messages: [{ role: 'user', content }],
        max_tokens: 1,
      });
    await ask();
    const { usage } = await ask();
    const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
    expect(cached % 16).toBe(0);
    expect(cached).toBeGreaterThan((usage?.prompt_tokens ?? 0) - 17);
    expect(cached).toBeLessThan(usage?.prompt_tokens ?? 0);
  });

  it('calls a tool with arguments that fit its schema, whole and streamed', async () => {
    const request = {
      model: 'm',
      messages,
      tools: [TOOL],
      tool_choice: 'required' as const,
      seed: 3,
    };
    const whole = await client().chat.completions.create(request);
    const [choice] = whole.choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    const [call] = choice?.message.tool_calls ?? [];
    if (call?.type !== 'function') throw new Error('no function was called');
    expect(call.function.name).toBe('weather');
    const fits = JSON.parse(call.function.arguments) as Record<string, unknown>;
    expect(fits['city']).toEqual(expect.any(String));
    expect(['celsius', 'fahrenheit']).toContain(fits['unit']);
    expect(fits['days']).toBeGreaterThanOrEqual(1);
    let streamed = '';
    let name = '';
    for await (const chunk of await client().chat.completions.create({
      ...request,
      stream: true,
    })) {
      const [piece] = chunk.choices[0]?.delta.tool_calls ?? [];
      name += piece?.function?.name ?? '';
      streamed += piece?.function?.arguments ?? '';
    }
    expect(name).toBe('weather');
    expect(streamed).toBe(call.function.arguments);
  });

  it('completes several prompts, several times each, and counts each prompt once', async () => {
    const answer = await client().completions.create({
      model: 'm',
      prompt: ['One prompt here. ', 'And another one. '],
      n: 2,
      max_tokens: 3,
      logprobs: 2,
    });
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(answer.usage?.prompt_tokens).toBe(5 + 5);
    const [first] = answer.choices;
    expect(first?.logprobs?.tokens?.join('')).toBe(first?.text);
    expect(Object.keys(first?.logprobs?.top_logprobs?.[0] ?? {})).toHaveLength(2);
  });

  it('stops before a stop string', async () => {
    const { choices } = await client().completions.create({
      model: 'm',
      prompt: 'x',
      seed: 5,
      max_tokens: 60,
    });
    const text = choices[0]?.text ?? '';
    const stop = text.slice(20, 26);
    const cut = await client().completions.create({
      model: 'm',
      prompt: 'x',
      seed: 5,
      max_tokens: 60,
      stop,
    });
    expect(cut.choices[0]?.text).toBe(text.slice(0, text.indexOf(stop)));
    expect(cut.choices[0]?.finish_reason).toBe('stop');
  });

  it('embeds: unit vectors, the same for the same text', async () => {
    const { data, usage } = await client().embeddings.create({
      model: 'm',
      input: ['sea', 'sea', 'sky'],
    });
    const [a, b, c] = data.map(({ embedding }) => embedding);
    expect(a).toEqual(b);
    expect(a).not.toEqual(c);
    expect(Math.hypot(...(a ?? []))).toBeCloseTo(1, 4);
    expect(usage.prompt_tokens).toBe(3);
  });

  it('lists the models', async () => {
    const ids: string[] = [];
    for await (const { id } of client().models.list()) ids.push(id);
    expect(ids).toEqual(['m']);
  });

  it('gets errors in its own shape', async () => {
    const failure = async (call: Promise<unknown>): Promise<APIError> => {
      const error: unknown = await call.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (!(error instanceof APIError)) throw new Error(`no APIError: ${String(error)}`);
      return error;
    };
    const unknown = await failure(client().chat.completions.create({ model: 'abacus', messages }));
    expect([unknown.status, unknown.type]).toEqual([404, 'NotFoundError']);
    const tooLong = await failure(
      client().completions.create({ model: 'm', prompt: 'x', max_tokens: 10_000_000 }),
    );
    expect(tooLong.status).toBe(400);
    expect(tooLong.message).toMatch(/maximum context length is 432000 tokens/);
    const empty = await failure(client().chat.completions.create({ model: 'm', messages: [] }));
    expect([empty.status, empty.param]).toEqual([400, 'messages']);
  });
});
