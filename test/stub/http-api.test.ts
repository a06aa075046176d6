import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { stubPoolForTests } from './stub-pool.ts';

const stub = stubPoolForTests({ count: 2, loras: ['adapter-a'] });

async function post(
  path: string,
  body: unknown,
  server = 0,
): Promise<{ status: number; body: string }> {
  const response = await fetch(stub.url(path, server), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: await response.text() };
}

async function get(path: string): Promise<{ status: number; body: string }> {
  const response = await fetch(stub.url(path));
  return { status: response.status, body: await response.text() };
}

interface ChatAnswer {
  readonly choices: readonly [{ readonly message: { readonly content: string } }];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

async function chat(messages: readonly object[], tokens: number): Promise<ChatAnswer> {
  const body = { model: 'm', messages, max_tokens: tokens, ignore_eos: true };
  return JSON.parse((await post('/v1/chat/completions', body)).body) as ChatAnswer;
}

describe('the stub’s HTTP face', () => {
  it.each([
    ['/v1/completions', { prompt: Array.from({ length: 5000 }, () => 'x') }],
    ['/v1/completions', { prompt: ['x', 'y', 'z'], n: 128, max_tokens: 400_000 }],
    ['/v1/embeddings', { input: Array.from({ length: 2000 }, () => 'x'), dimensions: 16_384 }],
  ])('says 400 at %s to what takes more memory than a request may', async (path, body) => {
    const answer = await post(path, { model: 'm', ignore_eos: true, ...body });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatch(/(?:are )?more than (?:the )?\d+ (?:sequences|tokens|values)/);
  });

  it.each([
    ['text', 'TEXT named_metrics.kv_cache_usage_perc=0, named_metrics.num_requests_waiting=0'],
    ['JSON', 'JSON {"named_metrics":{"kv_cache_usage_perc":0,"num_requests_waiting":0}}'],
    ['BIN', null],
  ])(
    '[B252] reports its load with an answer that comes whole, if asked in %s',
    async (format, report) => {
      const send = (body: object): Promise<Response> =>
        fetch(stub.url('/v1/completions', 1), {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'endpoint-load-metrics-format': format },
          body: JSON.stringify({ model: 'm', prompt: 'x', max_tokens: 1, ...body }),
        });
      for (const [stream, expected] of [
        [false, report],
        [true, null],
      ] as const) {
        const response = await send({ stream });
        await response.text();
        expect(response.headers.get('endpoint-load-metrics')).toBe(expected);
      }
    },
  );

  it.each([{ 'content-length': 70_000_000 }, {}])(
    'says 413 to an upload of 70 MB with the headers %j, whose client reads it',
    async (headers) => {
      const upload = request(stub.url('/v1/completions'), {
        method: 'POST',
        headers,
        agent: false,
      });
      const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
      const chunk = Buffer.alloc(1_000_000, ' ');
      for (let sent = 0; sent < 70; sent++) upload.write(chunk);
      upload.on('error', () => undefined);
      expect((await answered)[0].statusCode).toBe(413);
      upload.destroy();
    },
  );

  it('answers health, ping and version', async () => {
    expect((await get('/health')).status).toBe(200);
    expect((await get('/ping')).status).toBe(200);
    expect(JSON.parse((await get('/version')).body)).toHaveProperty('version');
  });

  it('says 404 to a path it has not, 405 to a method it has not', async () => {
    expect((await get('/nowhere')).status).toBe(404);
    expect((await get('/v1/completions')).status).toBe(405);
  });

  it.each([
    ['no JSON', '{"model":'],
    ['no object', '7'],
    ['no prompt', { model: 'm' }],
    ['a prompt of nothing', { model: 'm', prompt: [] }],
    ['tokens below 0', { model: 'm', prompt: [-1] }],
    ['n of 0', { model: 'm', prompt: 'x', n: 0 }],
    [
      'an unknown tool choice',
      { model: 'm', messages: [{ role: 'user' }], tool_choice: { function: { name: 'x' } } },
    ],
  ])('refuses %s with 400 and stays up', async (_what, body) => {
    const path = JSON.stringify(body).includes('messages')
      ? '/v1/chat/completions'
      : '/v1/completions';
    const { status, body: text } = await post(path, body);
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { type: 'BadRequestError', code: 400 } });
    expect((await get('/health')).status).toBe(200);
  });

  it('turns text into tokens and back', async () => {
    const { tokens, count } = JSON.parse((await post('/tokenize', { prompt: 'grüße!' })).body) as {
      tokens: number[];
      count: number;
    };
    expect(count).toBe(2);
    expect(JSON.parse((await post('/detokenize', { tokens })).body)).toEqual({ prompt: 'grüße!' });
    const answer = await post('/tokenize', { messages: [{ role: 'user', content: 'hello' }] });
    // `<|user|>`, `hello`, the end of the message and `<|assistant|>`, each from a token of its own
    // on.
    expect(JSON.parse(answer.body)).toHaveProperty('count', 3 + 2 + 1 + 4);
  });

  it('finds the KV of its own answer again when that comes back as a message', async () => {
    const user = (content: string): object => ({ role: 'user', content });
    const question = user('How does a pointsman know which train is next? '.repeat(4));
    const first = await chat([question], 320);
    const { content } = first.choices[0].message;
    const second = await chat([question, { role: 'assistant', content }, user('And then?')], 1);
    const { prompt_tokens: prompt, completion_tokens: answer } = first.usage;
    // The last token of an answer is never computed.
    const known = Math.floor((prompt + answer - 1) / 16) * 16;
    expect(second.usage.prompt_tokens_details.cached_tokens).toBe(known);
  });

  it('counts a chat’s tokens as its completion does', async () => {
    const messages = [{ role: 'user', content: 'how many tokens is this?' }];
    const counted = JSON.parse((await post('/tokenize', { messages })).body) as { count: number };
    const answer = JSON.parse(
      (await post('/v1/chat/completions', { model: 'm', messages, max_tokens: 1 })).body,
    ) as { usage: { prompt_tokens: number } };
    expect(answer.usage.prompt_tokens).toBe(counted.count);
  });

  it('loads and unloads adapters, and serves them as models', async () => {
    const ask = (): ReturnType<typeof post> =>
      post('/v1/completions', { model: 'new-one', prompt: 'x', max_tokens: 1 });
    expect((await ask()).status).toBe(404);
    expect(
      (await post('/v1/load_lora_adapter', { lora_name: 'new-one', lora_path: 'p' })).status,
    ).toBe(200);
    expect((await post('/v1/load_lora_adapter', { lora_name: 'new-one' })).status).toBe(400);
    expect((await ask()).status).toBe(200);
    expect((await get('/v1/models')).body).toContain('"parent":"m"');
    expect((await post('/v1/unload_lora_adapter', { lora_name: 'new-one' })).status).toBe(200);
    expect((await ask()).status).toBe(404);
    expect((await post('/v1/unload_lora_adapter', { lora_name: 'new-one' })).status).toBe(404);
  });

  it('gives exactly as many tokens as a header or ignore_eos asks for', async () => {
    const forced = await fetch(stub.url('/v1/completions'), {
      method: 'POST',
      headers: { 'x-stub-output-tokens': '7' },
      body: JSON.stringify({ model: 'm', prompt: 'x', max_tokens: 100 }),
    });
    expect(await forced.json()).toMatchObject({ usage: { completion_tokens: 7 } });
    const ignored = await post('/v1/completions', {
      model: 'm',
      prompt: 'x',
      max_tokens: 33,
      ignore_eos: true,
    });
    expect(JSON.parse(ignored.body)).toMatchObject({ usage: { completion_tokens: 33 } });
  });

  it('[S22] gives the tokens of the header where a completion does not say how many', async () => {
    const tokensOf = async (headers: Record<string, string>): Promise<unknown> => {
      const body = JSON.stringify({ model: 'm', prompt: 'x', ignore_eos: true });
      const answer = await fetch(stub.url('/v1/completions'), { method: 'POST', headers, body });
      return ((await answer.json()) as { usage: { completion_tokens: number } }).usage;
    };
    expect(await tokensOf({ 'x-stub-output-tokens': '40' })).toMatchObject({
      completion_tokens: 40,
    });
    // The default of the API.
    expect(await tokensOf({})).toMatchObject({ completion_tokens: 16 });
  });

  it('holds requests while it sleeps and forgets its cache', async () => {
    await post('/sleep', {});
    expect(JSON.parse((await get('/is_sleeping')).body)).toEqual({ is_sleeping: true });
    const pending = post('/v1/completions', { model: 'm', prompt: 'x', max_tokens: 1 });
    expect((await get('/metrics')).body).toMatch(/num_requests_running\{[^}]*\} 0/);
    await post('/wake_up', {});
    expect((await pending).status).toBe(200);
    expect(JSON.parse((await get('/is_sleeping')).body)).toEqual({ is_sleeping: false });
  });

  it('releases the memory of a client that disconnects', async () => {
    const [endpoint] = stub.pool().endpoints;
    const left = new AbortController();
    const response = await fetch(stub.url('/v1/completions'), {
      method: 'POST',
      body: JSON.stringify({
        model: 'm',
        prompt: 'x',
        max_tokens: 100_000,
        ignore_eos: true,
        stream: true,
      }),
      signal: left.signal,
    });
    const reader = response.body?.getReader();
    await reader?.read();
    expect(endpoint?.engine.runningCount).toBe(1);
    left.abort();
    await expect.poll(() => endpoint?.engine.runningCount).toBe(0);
    expect(endpoint?.engine.kv.pool.held).toBe(0);
  });

  it('prefills on one server and decodes on another, as NIXL’s two legs', async () => {
    const prompt = 'A prompt of some length, computed elsewhere. '.repeat(30);
    const [first, second] = stub.pool().endpoints;
    const prefill = JSON.parse(
      (
        await post('/v1/completions', {
          model: 'm',
          prompt,
          max_tokens: 1,
          kv_transfer_params: { do_remote_decode: true, do_remote_prefill: false },
        })
      ).body,
    ) as { kv_transfer_params: { do_remote_prefill: boolean; remote_block_ids: number[] } };
    expect(prefill.kv_transfer_params).toMatchObject({ do_remote_prefill: true, tp_size: 1 });
    const blocks = prefill.kv_transfer_params.remote_block_ids.length;
    // The prefill side holds its blocks until they are pulled.
    expect(first?.engine.kv.pool.held).toBe(blocks);
    const decode = await post(
      '/v1/completions',
      {
        model: 'm',
        prompt,
        max_tokens: 5,
        ignore_eos: true,
        kv_transfer_params: prefill.kv_transfer_params,
      },
      1,
    );
    const { usage } = JSON.parse(decode.body) as {
      usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
    };
    expect(usage.prompt_tokens_details.cached_tokens).toBe(usage.prompt_tokens - 1);
    expect(first?.engine.kv.pool.held).toBe(0);
    expect(second?.engine.kv.pool.held).toBe(0);
    const again = await post(
      '/v1/completions',
      {
        model: 'm',
        prompt: `${prompt}!`,
        max_tokens: 5,
        kv_transfer_params: prefill.kv_transfer_params,
      },
      1,
    );
    expect(again.status).toBe(500);
  });
});
