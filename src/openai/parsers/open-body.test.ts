import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sharedBlocks } from '../../../test/prompt-blocks.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { createOpenBody, headerOnlyRequest } from './open-body.ts';

const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7 });

interface ReadOptions {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cuts?: readonly number[];
}

function read(
  body: unknown,
  { path = '/v1/chat/completions', headers = {}, cuts = [] }: ReadOptions = {},
): InferenceRequest {
  const reader = openBody({ id: 'r', path, headers: new Map(Object.entries(headers)) });
  const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
  const at = [
    0,
    ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  for (let index = 1; index < at.length; index++)
    reader.push(bytes.subarray(at[index - 1], at[index]));
  return reader.end();
}

const words = (count: number, seed = 0): string =>
  Array.from({ length: count }, (_, index) => `w${seed}-${index}`).join(' ');

describe('reading requests', () => {
  it('reads model, stream, output cap and an estimate of the prompt', () => {
    const request = read({
      model: 'm',
      stream: true,
      max_tokens: 9,
      max_completion_tokens: 7,
      messages: [{ role: 'user', content: 'x'.repeat(4000) }],
    });
    expect(request).toMatchObject({ model: 'm', streaming: true, outputTokensMax: 7 });
    expect(request.promptTokens).toBeGreaterThan(1000);
    expect(request.promptTokens).toBeLessThan(1010);
    expect(request.prompt.count).toBe(15);
  });

  it.each([
    ['/v1/completions', { model: 'm', prompt: words(200) }],
    ['/v1/completions', { model: 'm', prompt: [words(200), words(100)] }],
    ['/v1/completions?x=1', { model: 'm', prompt: Array.from({ length: 300 }, (_, i) => i) }],
    ['/v1/embeddings/', { model: 'm', input: words(200) }],
    ['/v1/responses', { model: 'm', input: words(200), instructions: 'be brief' }],
    [
      '/v1/messages',
      {
        model: 'm',
        system: 'be kind',
        max_tokens: 5,
        messages: [{ role: 'user', content: words(200) }],
      },
    ],
    ['/inference/v1/generate', { token_ids: Array.from({ length: 300 }, (_, i) => i) }],
    [
      '/generate',
      {
        input_ids: Array.from({ length: 300 }, (_, i) => i),
        sampling_params: { max_new_tokens: 4 },
      },
    ],
  ])('reads the prompt of %s', (path, body) => {
    expect(read(body, { path }).prompt.count).toBeGreaterThan(2);
  });

  it('counts token ids exactly', () => {
    const ids = Array.from({ length: 321 }, (_, index) => 70_000 + index);
    const request = read({ model: 'm', prompt: ids }, { path: '/v1/completions' });
    expect(request.promptTokens).toBe(321);
    expect(request.prompt.count).toBe(5);
  });

  it('hashes the same however the bytes are cut', () => {
    const body = {
      model: 'm',
      messages: [
        { role: 'system', content: `${words(90)}\n"quoted" \\ back` },
        { role: 'user', content: [{ type: 'text', text: words(90, 1) }] },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: words(50, 2) } }],
    };
    const whole = read(body);
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 10 }), (cuts) => {
        expect(read(body, { cuts }).prompt).toEqual(whole.prompt);
      }),
      { seed: 857 },
    );
  });

  it('shares exactly the blocks before two prompts part', () => {
    const body = (tail: string): unknown => ({
      model: 'm',
      messages: [{ role: 'user', content: 'a'.repeat(256 * 10) + tail }],
    });
    expect(sharedBlocks(read(body('b'.repeat(999))), read(body('c'.repeat(999))))).toBe(10);
  });

  it('shares nothing across models or cache salts', () => {
    const body = { model: 'm', messages: [{ role: 'user', content: words(500) }] };
    expect(sharedBlocks(read(body), read({ ...body, model: 'other' }))).toBe(0);
    expect(sharedBlocks(read(body), read({ ...body, cache_salt: 's' }))).toBe(0);
    expect(sharedBlocks(read(body), read({ messages: body.messages, model: 'm' }))).toBe(
      read(body).prompt.count,
    );
  });

  it('puts tools before messages and the role before the content, wherever they stand in the body', () => {
    const tools = [{ type: 'function', function: { name: 'f', description: words(200) } }];
    const ask = (content: string): unknown[] => [{ role: 'user', content }];
    const a = read({ model: 'm', messages: ask(words(300, 1)), tools });
    const b = read({ model: 'm', tools, messages: ask(words(300, 2)) });
    expect(sharedBlocks(a, b)).toBeGreaterThan(4);
    const swapped = read({
      model: 'm',
      tools,
      messages: [{ content: words(300, 1), role: 'user' }],
    });
    expect(swapped.prompt).toEqual(a.prompt);
  });

  it('does not count a picture as text but distinguishes two', () => {
    const body = (data: string): unknown => ({
      model: 'm',
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }],
        },
      ],
    });
    const a = read(body('A'.repeat(100_000)));
    expect(a.promptTokens).toBeLessThan(300);
    expect(a.mediaItems).toBe(1);
    expect(read({ model: 'm', messages: [{}] }).mediaItems).toBeUndefined();
    expect(sharedBlocks(a, read(body('B'.repeat(100_000))))).toBe(0);
  });

  it('passes on what it does not know without reading it', () => {
    expect(read('not json', { path: '/v1/files' }).model).toBe('');
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    '[V310] reads the body of an API it knows as JSON, whatever the content type: %s',
    (type) => {
      const headers = { 'content-type': type };
      expect(read({ model: 'm', messages: [{}] }, { headers }).model).toBe('m');
      expect(() => read('raw', { headers })).toThrow(/not valid JSON/);
    },
  );

  it('reads objective, fairness id and targets from the headers, the current name first', () => {
    const request = read(
      { model: 'm', messages: [{}] },
      {
        headers: {
          'x-gateway-inference-fairness-id': 'old',
          'x-llm-d-inference-fairness-id': 'tenant',
          'x-slo-ttft-ms': '250',
          'x-slo-tpot-ms': 'soon',
        },
      },
    );
    expect(request).toMatchObject({ fairnessId: 'tenant', ttftSloMs: 250, tpotSloMs: undefined });
  });

  it.each([
    ['{"messages":[{}]}', /field "model" is missing: a chat completion names its model/],
    ['{"model":7,"messages":[{}]}', /field "model" must be a string, got a number/],
    ['{"model":"","messages":[{}]}', /field "model" is empty/],
    [`{"model":"${'m'.repeat(600)}","messages":[{}]}`, /field "model" is empty or too long/],
    ['{"model":"m"}', /field "messages" is missing/],
    ['{"model":"m","messages":"hi"}', /field "messages" must be an array, got a string/],
    ['{"model":"m","messages":[]}', /field "messages" is an empty array/],
    ['[1]', /must be a JSON object, got an array/],
    ['"x"', /must be a JSON object, got a string/],
    ['null', /must be a JSON object, got null/],
    ['', /the request body is empty/],
    ['{"model":"m"', /ends early/],
  ])('refuses %s with a sentence that says what and where', (body, sentence) => {
    expect(() => read(body)).toThrow(sentence);
  });

  it.each(['-1', '"10"', '1.5', 'true', 'null', '[]', '1e400', '18446744073709551616'])(
    '[D452] leaves an odd limit of the answer to the model server, and takes it for none: %s',
    (cap) => {
      const body = `{"model":"m","messages":[{}],"max_completion_tokens":${cap},"max_tokens":7}`;
      expect(read(body).outputTokensMax).toBe(7);
      expect(read(body.replace('7}', `${cap}}`)).outputTokensMax).toBeUndefined();
    },
  );

  it.each(['"true"', '1', 'null', '{}'])(
    '[D452] leaves an odd value of stream to the model server, and takes it for false: %s',
    (stream) => {
      expect(read(`{"model":"m","messages":[{}],"stream":${stream}}`).streaming).toBe(false);
    },
  );

  it.each([
    '{"model":"m","prompt":[[1,2],[3]]}',
    '{"model":"m","prompt":["a",1]}',
    '{"model":"m","prompt":[1.5,-1]}',
    '{"model":"m","prompt":""}',
    '{"model":"m","prompt":"x","cache_salt":5}',
  ])('[D452] leaves other odd values to the model server: %s', (body) => {
    expect(read(body, { path: '/v1/completions' }).model).toBe('m');
  });

  it.each(['', '"prompt":null,'])(
    '[V285] takes a completion whose prompt is given as embeddings, with %j before them',
    (before) => {
      const embeds = JSON.stringify('x'.repeat(10_000));
      const body = `{"model":"m",${before}"prompt_embeds":${embeds}}`;
      expect(read(body, { path: '/v1/completions' }).promptTokens).toBe(1);
    },
  );

  it('[V285] refuses a completion with neither prompt nor embeddings', () => {
    const body = '{"model":"m","prompt_embeds":null}';
    expect(() => read(body, { path: '/v1/completions' })).toThrow('field "prompt" is missing');
  });

  it('[V284] reads half a surrogate pair in the name of a model as the character that replaces it', () => {
    const { model } = read(String.raw`{"model":"m\ud83d","messages":[{}]}`);
    expect(model).toBe('m\ufffd');
  });

  it('refuses a body over the bound as soon as its length or its bytes show it', () => {
    const head = { id: 'r', path: '/v1/completions' };
    expect(() => openBody({ ...head, headers: new Map([['content-length', '1000001']]) })).toThrow(
      /over --max-body-bytes 1000000/,
    );
    const reader = openBody({ ...head, headers: new Map() });
    reader.push(new TextEncoder().encode(`{"prompt":"${'x'.repeat(900_000)}`));
    expect(() => reader.push(new Uint8Array(200_000).fill(0x78))).toThrow(/1100011 bytes or more/);
  });
});

it('a request has the priority of its objective, with a body that is read, one that is not, and none', () => {
  const priorityOf = (objective: string | undefined): number => (objective === 'batch' ? -1 : 0);
  const open = createOpenBody({ bodyBytesMax: 1000, hashSeed: 7, priorityOf });
  const headers = new Map([['x-gateway-inference-objective', 'batch']]);
  const json = open({ id: 'r', path: '/v1/completions', headers });
  json.push(Buffer.from('{"model":"m","prompt":"a"}'));
  expect(json.end().priority).toBe(-1);
  const opaque = open({ id: 'r', path: '/v1/files', headers });
  expect(opaque.end().priority).toBe(-1);
  expect(headerOnlyRequest({ id: 'r', path: '/', headers }, priorityOf).priority).toBe(-1);
});
