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
