import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { stubPoolForTests } from './stub-pool.ts';

const stub = stubPoolForTests();
const client = (): OpenAI =>
  new OpenAI({ baseURL: stub.url('/v1'), apiKey: 'none', maxRetries: 0 });

interface Generated {
  readonly text: string;
  readonly output_ids: readonly number[];
  readonly meta_info: {
    readonly finish_reason: { readonly type: string } | null;
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly cached_tokens: number;
  };
}

function generate(body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(stub.url('/generate'), { method: 'POST', headers, body: JSON.stringify(body) });
}

describe('SGLang’s /generate', () => {
  const sampling_params = { max_new_tokens: 6, ignore_eos: true, sampling_seed: 4 };

  test('[B27] answers text and token ids, with counts and what was cached', async () => {
    const input_ids = Array.from({ length: 50 }, (_, at) => at + 1);
    const first = (await (await generate({ input_ids, sampling_params })).json()) as Generated;
    expect(first.text).toHaveLength(24);
    expect(first.output_ids).toHaveLength(6);
    expect(first.meta_info).toMatchObject({
      finish_reason: { type: 'length', length: 6 },
      prompt_tokens: 50,
      completion_tokens: 6,
      cached_tokens: 0,
    });
    const again = (await (await generate({ input_ids, sampling_params })).json()) as Generated;
    expect(again.meta_info.cached_tokens).toBe(48);
  });

  test('[B27] streams all of the text so far in each event', async () => {
    const whole = (await (await generate({ text: 'hello', sampling_params })).json()) as Generated;
    const stream = await (await generate({ text: 'hello', sampling_params, stream: true })).text();
    const lines = stream.split('\n\n').filter((line) => line !== '');
    expect(lines.at(-1)).toBe('data: [DONE]');
    const events = lines.slice(0, -1).map((line) => JSON.parse(line.slice(6)) as Generated);
    for (const [index, { text }] of events.entries()) {
      expect(text.startsWith(events[index - 1]?.text ?? '')).toBe(true);
    }
    expect(events.at(-1)?.text).toBe(whole.text);
    expect(events.map(({ meta_info }) => meta_info.finish_reason?.type ?? null)).toEqual([
      ...events.slice(1).map(() => null),
      'length',
    ]);
  });

  test('[B27] refuses a request without a prompt', async () => {
    expect((await generate({ sampling_params })).status).toBe(400);
  });
});

describe('rankings', () => {
  const query = 'the capital of France';
  const documents = ['Paris is the capital of France.', 'Berlin is not.', 'the capital'];

  async function post(path: string, body: object): Promise<[number, Record<string, unknown>]> {
    const headers = { 'content-type': 'application/json' };
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(stub.url(path), sent);
    return [answer.status, (await answer.json()) as Record<string, unknown>];
  }

  test.each(['/rerank', '/v1/rerank', '/v2/rerank'])(
    '[D545] %s names the best documents first, and counts a prompt for each',
    async (path) => {
      const [status, answer] = await post(path, { query, documents, top_n: 2 });
      expect([status, answer['model'], answer['usage']]).toEqual([
        200,
        'm',
        { prompt_tokens: 30, total_tokens: 30 },
      ]);
      expect(answer['results']).toMatchObject([
        { index: 0, relevance_score: 1, document: { text: documents[0] } },
        { index: 2, relevance_score: 0.5 },
      ]);
    },
  );

  test.each(['/score', '/v1/score'])('[D545] %s scores one text or as many', async (path) => {
    const scores = async (body: object): Promise<unknown> => {
      const [, { data }] = await post(path, { model: 'm', ...body });
      return (data as readonly { score: number }[]).map((each) => each.score);
    };
    expect(await scores({ text_1: query, text_2: documents })).toEqual([1, 0, 0.5]);
    expect(await scores({ queries: ['a b', 'c'], documents: ['a', 'c'] })).toEqual([0.5, 1]);
  });

  test('[D545] are refused as vLLM does', async () => {
    const two = { text_1: ['a', 'b'], text_2: ['a'] };
    const many = { query, documents: Array.from({ length: 2049 }, () => 'a') };
    const refused: readonly [string, object][] = [
      ['/score', two],
      ['/score', { text_1: 'a' }],
      ['/rerank', { query }],
      ['/rerank', many],
    ];
    for (const [path, body] of refused) expect((await post(path, body))[0]).toBe(400);
    expect((await post('/rerank', { model: 'x', query, documents }))[0]).toBe(404);
  });
});

describe('images and sound', () => {
  test('[B27] images are sent as data, as many as wanted', async () => {
    const { data } = await client().images.generate({ model: 'm', prompt: 'a cat', n: 2 });
    expect(data).toHaveLength(2);
    expect(Buffer.from(data?.[0]?.b64_json ?? '', 'base64').toString('latin1', 1, 4)).toBe('PNG');
  });

  test.each([
    ['mp3', 'audio/mpeg', 0xff],
    ['wav', 'audio/wav', 0x52],
  ] as const)('[B27] speech comes as %s', async (response_format, type, first) => {
    const request = { model: 'm', voice: 'alloy', input: 'Say this.', response_format };
    const answer = await client().audio.speech.create(request);
    expect(answer.headers.get('content-type')).toBe(type);
    expect(answer.headers.get('x-vllm-omni-total-tokens')).toBe('4');
    expect(new Uint8Array(await answer.arrayBuffer())[0]).toBe(first);
  });

  test('[B27] a recording is transcribed, and a body without one refused', async () => {
    const file = new File([Buffer.alloc(5000, 7)], 'speech.mp3');
    const { text } = await client().audio.transcriptions.create({ model: 'm', file });
    expect(text.length).toBeGreaterThan(0);
    const plain = await fetch(stub.url('/v1/audio/transcriptions'), { method: 'POST', body: 'x' });
    expect(plain.status).toBe(400);
  });
});
