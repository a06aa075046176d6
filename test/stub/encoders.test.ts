import { describe, expect, test } from 'vitest';
import { IMAGE_TOKENS, imageOf } from './image.ts';
import { stubPoolForTests } from './stub-pool.ts';

/** An encoder apart from the server that answers, and what clients get of both. */

const encoder = { itemMs: 2000, perTokenMs: 0, cacheTokens: 100_000 };
const encoders = stubPoolForTests({ encoder, encoderOnly: true, servesEncodings: true });
const engines = stubPoolForTests({ encoder });

interface Answer {
  readonly ec_transfer_params?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number } | null;
  };
}

async function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify({ model: 'm', ...body }) });
}

const about = (name: string): object => ({
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: imageOf(name) } }] }],
  max_tokens: 1,
});

async function answer(url: string, body: object): Promise<Answer> {
  const response = await post(url, body);
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

/** Requests whose first token came within half of the time of an item. */
async function fast(): Promise<number> {
  const page = await (await fetch(engines.url('/metrics'))).text();
  return Number(/time_to_first_token_seconds_bucket\{[^}]*le="1.0"[^}]*\} (.*)/.exec(page)?.[1]);
}

describe('an encoder without a language model', () => {
  const chat = '/v1/chat/completions';

  test('[B33] says where the result of each medium is, by the hash of its content', async () => {
    const { ec_transfer_params: params = {}, usage } = await answer(encoders.url(chat), about('a'));
    const { ec_transfer_params: others = {} } = await answer(encoders.url(chat), about('b'));
    const [port] = encoders.url('').split(':').slice(-1);
    expect(Object.values(params)).toEqual([
      {
        peer_host: '127.0.0.1',
        peer_port: Number(port),
        size_bytes: IMAGE_TOKENS * 8192,
        nixl_agent_metadata_b64: Buffer.from('stub-0').toString('base64'),
      },
    ]);
    expect(Object.keys(others)).not.toEqual(Object.keys(params));
    expect(usage.prompt_tokens).toBeGreaterThan(IMAGE_TOKENS);
    expect(usage.completion_tokens).toBe(1);
  });

  test('[B33] saves the engine the time of the media that it names, and of no others', async () => {
    const { ec_transfer_params } = await answer(encoders.url(chat), about('c'));
    const before = await fast();
    await answer(engines.url(chat), { ...about('c'), ec_transfer_params });
    expect(await fast()).toBe(before + 1);
    await answer(engines.url(chat), { ...about('d'), ec_transfer_params });
    expect(await fast()).toBe(before + 1);
  });

  test('[B33] takes what /render has made of a chat', async () => {
    const rendered = await post(engines.url('/v1/chat/completions/render'), about('a'));
    const { ec_transfer_params: params = {} } = await answer(
      encoders.url('/inference/v1/generate'),
      (await rendered.json()) as object,
    );
    expect(Object.keys(params)).toHaveLength(1);
    const whole = await answer(encoders.url(chat), about('a'));
    expect(Object.keys(params)).toEqual(Object.keys(whole.ec_transfer_params ?? {}));
  });
});

test.each([
  ['of an image', about('x')],
  [
    'of text that is not English',
    { messages: [{ role: 'user', content: 'Größe 日本語 '.repeat(20) }] },
  ],
])('[B34] token ids %s from /render are those of the prompt', async (_, body) => {
  const rendered = await post(engines.url('/v1/chat/completions/render'), body);
  const { token_ids: ids } = (await rendered.json()) as { token_ids: number[] };
  expect(Math.min(...ids)).toBeGreaterThanOrEqual(0);
  await answer(engines.url('/v1/chat/completions'), { ...body, max_tokens: 1 });
  const again = await answer(engines.url('/v1/completions'), { prompt: ids, max_tokens: 1 });
  const cached = again.usage.prompt_tokens_details?.cached_tokens ?? 0;
  expect(cached).toBeGreaterThan(again.usage.prompt_tokens - 32);
});

describe('generated tokens', () => {
  test('[B34] become the answer of a chat or a completion by /derender', async () => {
    const prompt = { token_ids: [1, 2, 3, 4], sampling_params: { max_tokens: 5, seed: 7 } };
    const generated = await (await post(engines.url('/inference/v1/generate'), prompt)).json();
    const ids = (generated as { choices: { token_ids: number[] }[] }).choices[0]?.token_ids ?? [];
    const detokenized = await post(engines.url('/detokenize'), { tokens: ids });
    const { prompt: text } = (await detokenized.json()) as { prompt: string };
    const chat = await post(engines.url('/v1/chat/completions/derender'), {
      generate_response: generated,
      prompt_tokens: 4,
    });
    expect(await chat.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ index: 0, message: { content: text }, finish_reason: 'length' }],
      usage: { prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 },
    });
    const completion = await post(engines.url('/v1/completions/derender'), {
      generate_responses: [generated, generated],
    });
    expect(await completion.json()).toMatchObject({
      object: 'text_completion',
      choices: [
        { index: 0, text },
        { index: 1, text },
      ],
      usage: { completion_tokens: 10 },
    });
  });

  test.each([
    ['/v1/chat/completions/derender', { generate_response: { request_id: 'r' } }],
    [
      '/v1/chat/completions/derender',
      { generate_response: { request_id: 'r', choices: [] }, stream: true },
    ],
    ['/v1/completions/derender', { generate_responses: [] }],
    [
      '/v1/completions/derender',
      { generate_responses: [{ request_id: 'r', choices: [] }], prompt_tokens: [1, 2] },
    ],
  ])('[B34] are refused at %s where something is missing: %j', async (path, body) => {
    expect((await post(engines.url(path), body)).status).toBe(400);
  });
});
