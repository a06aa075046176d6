import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { framedRequest, VLLM_ENGINE } from '../../test/support/grpc/grpc-services.ts';
import { type Prompt, type PromptOptions, readPrompt } from './read-prompt.ts';

function read(body: unknown, path = '', options: PromptOptions = {}): Prompt {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = new TextEncoder().encode(text);
  const request = makeRequest({ headers: new Map([[':path', path]]) });
  return readPrompt(request, [bytes.subarray(0, 5), bytes.subarray(5)], options);
}

describe('the prompt of a body', () => {
  it('[E9] is its token ids where it has them, in any API', () => {
    const ids = { kind: 'ids', texts: [[1, 2, 3]], salt: '' };
    expect(read({ prompt: [1, 2, 3] })).toEqual(ids);
    expect(read({ prompt: [[1, 2, 3]], cache_salt: 's' })).toEqual({ ...ids, salt: 's' });
    expect(read({ token_ids: [1, 2, 3] })).toEqual(ids);
    expect(read({ input_ids: [1, 2, 3] })).toEqual(ids);
  });

  it('[E9] is the token ids of a gRPC message', () => {
    const headers = new Map([[':path', '/vllm.grpc.engine.VllmEngine/Generate']]);
    const request = makeRequest({ headers });
    const body = framedRequest(VLLM_ENGINE, 'Generate', { tokenized: { input_ids: [1, 300, 3] } });
    const pieces = [body.subarray(0, 7), body.subarray(7)];
    expect(readPrompt(request, pieces)).toEqual({ kind: 'ids', texts: [[1, 300, 3]], salt: '' });
    const none = { kind: 'none', reason: 'unknown-body' };
    expect(readPrompt(request, [body.subarray(0, 9)])).toEqual(none);
    expect(readPrompt(request, [Buffer.from('{"prompt":[1]}')])).toEqual(none);
  });

  it('is what a tokenizer needs of it: nothing that leaves the tokens as they are', () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
    expect(read({ model: 'm', messages, tools: [], stream: true, max_tokens: 4 })).toEqual({
      kind: 'text',
      questions: [{ form: 'chat', fields: { model: 'm', messages, tools: [] } }],
      salt: '',
    });
    const asked = (...fields: readonly object[]) => ({
      kind: 'text',
      questions: fields.map((each) => ({ form: 'completion', fields: each })),
      salt: '',
    });
    expect(read({ model: 'm', prompt: 'hi', n: 2 })).toEqual(asked({ model: 'm', prompt: 'hi' }));
    expect(read({ prompt: ['hi'] })).toEqual(asked({ prompt: 'hi' }));
    expect(read({ text: 'hi' }, '/generate')).toEqual(asked({ prompt: 'hi' }));
  });

  it('[D587] [D588] is the chat that the server makes of a request of another API', () => {
    const chat = (salt: string) => ({
      kind: 'text',
      questions: [
        { form: 'chat', fields: { model: 'm', messages: [{ role: 'user', content: 'hi' }] } },
      ],
      salt,
    });
    const salted = { model: 'm', max_tokens: 2, cache_salt: 's' };
    expect(read({ ...salted, input: 'hi' }, '/v1/responses')).toEqual(chat('s'));
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
    expect(read({ ...salted, messages }, '/v1/messages?beta=true')).toEqual(chat(''));
  });

  it('[D598] is a request of the Messages API as it is, where the tokenizer takes it', () => {
    const messages = [{ role: 'system', content: 'versions differ in where this goes' }];
    const body = { model: 'm', max_tokens: 9, stream: true, cache_salt: 's', messages };
    const native = { rendersMessages: true };
    expect(read(body, '/v1/messages', native)).toEqual({
      kind: 'text',
      questions: [{ form: 'messages', fields: { model: 'm', messages, max_tokens: 1 } }],
      salt: '',
    });
    const image = { messages: [{ role: 'user', content: [{ type: 'image' }] }] };
    expect(read(image, '/v1/messages', native)).toEqual({ kind: 'none', reason: 'media' });
    expect(read({ input: 'hi' }, '/v1/responses', native)).toMatchObject({
      questions: [{ form: 'chat' }],
    });
  });

  it('[D476] has each text of a list, and each list of token ids', () => {
    const fields = { model: 'm', add_special_tokens: false };
    expect(read({ ...fields, prompt: ['a', 'b'] })).toEqual({
      kind: 'text',
      questions: [
        { form: 'completion', fields: { ...fields, prompt: 'a' } },
        { form: 'completion', fields: { ...fields, prompt: 'b' } },
      ],
      salt: '',
    });
    const lists = { kind: 'ids', texts: [[1], [2, 3]], salt: 's' };
    expect(read({ prompt: [[1], [2, 3]], cache_salt: 's' })).toEqual(lists);
    expect(read({ input_ids: [[1], [2, 3]] }, '/generate')).toEqual({ ...lists, salt: '' });
    const texts = read({ text: ['a', 'b', 'c'] }, '/generate');
    expect(texts).toMatchObject({ kind: 'text', questions: [{}, {}, {}] });
    const most = Array.from({ length: 33 }, (_, at) => `question ${at}`);
    expect(read({ prompt: most.slice(1) })).toMatchObject({ kind: 'text' });
    expect(read({ prompt: most })).toEqual({ kind: 'none', reason: 'several-prompts' });
    const lists2049 = Array.from({ length: 2049 }, () => [1]);
    expect(read({ prompt: lists2049 })).toEqual({ kind: 'none', reason: 'several-prompts' });
  });

  it.each([
    ['unknown-body', 'no JSON', ''],
    ['unknown-body', [1], ''],
    ['unknown-body', { input: 'hi' }, ''],
    ['unknown-body', { messages: [] }, '/v1/messages?beta=1'],
    ['unknown-body', { prompt: 'hi' }, '/v1/messages'],
    ['unknown-body', { input: '' }, '/v1/responses'],
    ['unknown-body', { input: { role: 'user' } }, '/v1/responses'],
    ['no-chat', { input: 'hi', previous_response_id: 'r' }, '/v1/responses'],
    ['unknown-body', { prompt: [1, 'a'] }, ''],
    ['unknown-body', { prompt: [] }, ''],
    ['unknown-body', { prompt: ['a', [1]] }, ''],
    ['unknown-body', { prompt: [[1], []] }, ''],
    ['unknown-body', { text: 'hi' }, '/v1/completions'],
    ['media', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, ''],
  ])('is not to be had: %s of %j', (reason, body, path) => {
    expect(read(body, path)).toEqual({ kind: 'none', reason });
  });
});
