import { describe, expect, it } from 'vitest';
import { PARSER_TYPES, type ParserType } from '../../framework/parser-type.ts';
import type { BodyReader } from '../body/body-reader.ts';
import { createOpenBody } from './open-body.ts';
import { selectReading } from './select-reading.ts';

const GRPC = '/vllm.grpc.engine.VllmEngine';

function opened(
  path: string,
  { types = [], headers = {} }: { types?: readonly ParserType[]; headers?: object } = {},
): BodyReader {
  const options = { bodyBytesMax: 10_000, hashSeed: 7, parsers: () => types };
  return createOpenBody(options)({ id: 'r', path, headers: new Map(Object.entries(headers)) });
}

/** What is read at a path: the shape of JSON, other messages, nothing; or no parser takes it. */
function readAt(path: string, types: readonly ParserType[] = []): string {
  const reading = selectReading(types)(path);
  if (reading === undefined) return 'refused';
  if (reading.shape !== undefined) return reading.shape.name;
  return opened(path, { types }).unread === true ? 'unread' : 'message';
}

describe('the parser of a request', () => {
  it.each([
    ['/v1/chat/completions', 'a chat completion'],
    ['/v1/completions', 'a completion'],
    ['/v1/chat/completions/render', 'a chat completion'],
    ['/v1/completions/render', 'a completion'],
    ['/v1/embeddings', 'an embedding'],
    ['/v1/responses', 'a response'],
    ['/v1/conversations', 'a conversation'],
    ['/v1/images/generations', 'an image generation'],
    ['/v1/audio/speech', 'a speech request'],
    ['/v1/audio/transcriptions', 'unread'],
    ['/v1/messages', 'a message'],
    ['/v1/messages/count_tokens', 'unread'],
    ['/inference/v1/generate', 'a generate request'],
    ['/generate', 'a generate request'],
    ['/rerank', 'a rerank request'],
    ['/v2/rerank', 'a rerank request'],
    ['/v1/score', 'a score request'],
    ['/generative_scoring', 'a score request'],
    ['/classify', 'a pooling request'],
    ['/pooling', 'a pooling request'],
    ['/tokenize', 'unread'],
    [`${GRPC}/Generate`, 'unread'],
  ])('[D32] of %s reads %s where none is configured', (path, read) => {
    expect(readAt(path)).toBe(read);
  });

  it.each<[ParserType, string, string]>([
    ['openai-parser', '/v1/chat/completions', 'a chat completion'],
    ['openai-parser', '/v1/messages', 'refused'],
    ['openai-parser', '/inference/v1/generate', 'refused'],
    ['anthropic-parser', '/v1/messages', 'a message'],
    ['anthropic-parser', '/v1/completions', 'refused'],
    ['vllmhttp-parser', '/inference/v1/generate', 'a generate request'],
    ['vllmhttp-parser', '/v1/completions', 'a completion'],
    ['sglanghttp-parser', '/generate', 'a generate request'],
    ['sglanghttp-parser', '/v1/generate', 'refused'],
    ['vllmgrpc-parser', `${GRPC}/Generate`, 'message'],
    ['vllmgrpc-parser', `${GRPC}/Embed`, 'message'],
    ['vllmgrpc-parser', `${GRPC}/HealthCheck`, 'unread'],
    ['vllmgrpc-parser', '/v1/completions', 'refused'],
    ['vertexai-parser', '/x.PredictionService/RawPredict', 'message'],
    ['vertexai-parser', '/x.PredictionService/Predict', 'unread'],
    ['passthrough-parser', '/v1/chat/completions', 'unread'],
    ['passthrough-parser', `${GRPC}/Generate`, 'unread'],
  ])('[D32] %s alone makes of %s: %s', (type, path, read) => {
    expect(readAt(path, [type])).toBe(read);
  });

  it('[D32] is the one that claims most of the path, in any order', () => {
    for (const types of [PARSER_TYPES, PARSER_TYPES.toReversed()]) {
      expect(readAt('/v1/chat/completions', types)).toBe('a chat completion');
      expect(readAt(`${GRPC}/Generate`, types)).toBe('message');
      expect(readAt('/v1/rerank', types)).toBe('unread');
    }
  });

  it('[D32] is none for a path that none of those configured claims: it is refused', () => {
    expect(() => opened('/v1/rerank?x=1', { types: ['openai-parser'] })).toThrow(
      'path "/v1/rerank" is read by none of this picker\'s parsers (openai-parser)',
    );
  });

  it('[D32] can change while requests come', () => {
    let types: readonly ParserType[] = [];
    const open = createOpenBody({ bodyBytesMax: 10_000, hashSeed: 7, parsers: () => types });
    const head = { id: 'r', path: '/v1/completions', headers: new Map<string, string>() };
    expect(open(head).unread).not.toBe(true);
    types = ['passthrough-parser'];
    expect(open(head).unread).toBe(true);
  });

  it('[D39] finds the path in x-original-path or x-forwarded-path where a gateway hides it', () => {
    const chat = '/v1/chat/completions';
    const hidden = (headers: object, path = '/'): boolean | undefined =>
      opened(path, { headers }).unread;
    expect(hidden({ 'x-original-path': chat })).toBeUndefined();
    expect(hidden({ 'x-original-path': '', 'x-forwarded-path': chat })).toBeUndefined();
    expect(hidden({ 'x-forwarded-path': chat }, '')).toBeUndefined();
    expect(hidden({ 'x-original-path': chat }, '/v1/files')).toBe(true);
  });

  const LONG = 'a cat '.repeat(100);

  it.each([
    ['/v1/completions', { prompt: LONG, max_tokens: 7 }],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: LONG }], max_tokens: 7 }],
    ['/v1/chat/completions', { tools: [{ a: LONG }], messages: [{}], max_completion_tokens: 7 }],
    ['/v1/responses', { input: LONG, max_output_tokens: 7 }],
    ['/v1/embeddings', { input: LONG }],
  ])('[D450] is not needed where neither path nor headers say it: %s', (path, fields) => {
    const read = (from: string, headers: object): object => {
      const reader = opened(from, { headers });
      reader.push(Buffer.from(JSON.stringify({ model: 'm', ...fields })));
      const { model, promptTokens, outputTokensMax, prompt } = reader.end();
      return { model, promptTokens, outputTokensMax, isEmpty: prompt.count === 0 };
    };
    expect(read('/', {})).toEqual(read(path, {}));
    expect(read('', { ':path': '' })).toEqual(read(path, {}));
    expect(opened('/', { headers: { ':path': '/' } }).unread).toBe(true);
  });
});

describe('the bodies of further APIs', () => {
  function read(path: string, body: object, options: Parameters<typeof opened>[1] = {}) {
    const reader = opened(path, options);
    reader.push(Buffer.from(JSON.stringify(body)));
    return reader.end();
  }

  it('[D34] name their model and have a prompt', () => {
    const prompt = 'a cat '.repeat(100);
    const image = read('/v1/images/generations', { model: 'flux', prompt });
    expect([image.model, image.prompt.count]).toEqual(['flux', 2]);
    const items = [{ type: 'message', role: 'user', content: prompt }];
    const conversation = read('/v1/conversations', { model: 'm', items });
    expect([conversation.model, conversation.prompt.count]).toEqual(['m', 2]);
    const messages = [{ role: 'user', content: prompt }];
    const rendered = read('/v1/chat/completions/render', { model: 'm', messages });
    const chat = read('/v1/chat/completions', { model: 'm', messages });
    expect([...rendered.prompt.words]).toEqual([...chat.prompt.words]);
  });

  it.each<[string, object, number]>([
    ['/v1/rerank', { query: 'a cat?', documents: ['x'.repeat(600), 'y'.repeat(600)] }, 303],
    ['/rerank', { query: 'a cat?', texts: ['x'.repeat(600), 'y'.repeat(600)] }, 303],
    ['/v2/rerank', { query: 'a cat?', documents: [{ text: 'x'.repeat(1200) }] }, 302],
    ['/score', { text_1: 'a cat?', text_2: ['x'.repeat(600), 'y'.repeat(600)] }, 303],
    ['/v1/score', { query: 'a cat?', items: ['x'.repeat(600), 'y'.repeat(600)] }, 303],
    ['/score', { queries: [[1, 2], [3]], documents: [Array(200).fill(7)] }, 203],
    ['/classify', { input: ['x'.repeat(600), 'y'.repeat(600)] }, 301],
    ['/classify', { text: 'x'.repeat(1200) }, 301],
    ['/pooling', { messages: [{ role: 'user', content: 'x'.repeat(1200) }] }, 302],
  ])('[D544] that rank count by their texts, with or without a model: %s', (path, body, tokens) => {
    expect(read(path, body)).toMatchObject({ model: '', promptTokens: tokens });
    expect(read(path, { ...body, model: 'ranker' }).model).toBe('ranker');
  });

  it('[D544] that rank are passed on whatever they have, if they are JSON', () => {
    expect(read('/v1/rerank', { anything: 1 })).toMatchObject({ model: '', promptTokens: 1 });
    const broken = opened('/score');
    expect(() => broken.push(Buffer.from('no JSON'))).toThrow();
  });

  it('[D544] that rank get a rewritten model', () => {
    const headers = { 'x-llm-d-model-name-rewrite': 'other' };
    const reader = opened('/v1/score', { headers });
    reader.push(Buffer.from('{"text_1":"x","model":"m","text_2":"y"}'));
    expect(reader.end().model).toBe('other');
    expect(reader.edit).toHaveLength(1);
  });

  it('[D543] that speak have a text, and may leave out the model', () => {
    const input = 'a cat '.repeat(100);
    const speech = read('/v1/audio/speech', { model: 'tts', input, voice: 'a' });
    expect([speech.model, speech.prompt.count, speech.promptTokens]).toEqual(['tts', 2, 151]);
    expect(read('/v1/audio/speech', { input: '' }).model).toBe('');
    expect(() => read('/v1/audio/speech', { input: [input] })).toThrow('"input" must be a string');
    expect(() => read('/v1/audio/speech', { model: 'tts' })).toThrow('"input" is missing');
  });

  it('[D34] need their prompt, and may leave out the model', () => {
    expect(read('/v1/images/generations', { prompt: 'x' }).model).toBe('');
    expect(read('/v1/conversations', { items: [{}] }).model).toBe('');
    expect(() => read('/v1/images/generations', {})).toThrow('"prompt" is missing');
    expect(() => read('/v1/conversations', { items: [] })).toThrow('"items" is an empty array');
    expect(() => read('/v1/completions/render', { prompt: 'x' })).toThrow('"model" is missing');
  });

  it('[D34] get a rewritten model, also where they name none', () => {
    const reader = opened('/v1/images/generations', {
      headers: { 'x-llm-d-model-name-rewrite': 'other' },
    });
    reader.push(Buffer.from('{"prompt":"x"}'));
    expect(reader.end().model).toBe('other');
    expect(reader.edit).toMatchObject([{ start: 1, end: 1 }]);
  });

  it('[D34] of SGLang may have text, unless sglanghttp-parser is configured', () => {
    const text = { text: 'x'.repeat(1024), sampling_params: { max_new_tokens: 3 } };
    expect(read('/generate', text)).toMatchObject({ promptTokens: 257, outputTokensMax: 3 });
    expect(() => read('/generate', text, { types: ['sglanghttp-parser'] })).toThrow(
      '"input_ids" is missing',
    );
  });

  it('[D38] of SGLang count their tokens in meta_info', () => {
    const usage = opened('/generate').usageReader();
    const meta = '{"id":"x","finish_reason":{"type":"stop"},"prompt_tokens":4,';
    usage.push(Buffer.from(`{"text":"\\"usage\\"","meta_info":${meta}`));
    usage.push(Buffer.from('"completion_tokens":2,"cached_tokens":1}}'));
    expect(usage.take()).toEqual({ promptTokens: 4, completionTokens: 2, cachedTokens: 1 });
  });
});
