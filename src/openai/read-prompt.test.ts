import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { framedRequest, VLLM_ENGINE } from '../../test/support/grpc/grpc-services.ts';
import { type Prompt, readPrompt } from './read-prompt.ts';

function read(body: unknown, path = ''): Prompt {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = new TextEncoder().encode(text);
  const request = makeRequest({ headers: new Map([[':path', path]]) });
  return readPrompt(request, [bytes.subarray(0, 5), bytes.subarray(5)]);
}

describe('the prompt of a body', () => {
  it('[E9] is its token ids where it has them, in any API', () => {
    const ids = { kind: 'ids', ids: [1, 2, 3], salt: '' };
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
    expect(readPrompt(request, pieces)).toEqual({ kind: 'ids', ids: [1, 300, 3], salt: '' });
    const none = { kind: 'none', reason: 'unknown-body' };
    expect(readPrompt(request, [body.subarray(0, 9)])).toEqual(none);
    expect(readPrompt(request, [Buffer.from('{"prompt":[1]}')])).toEqual(none);
  });

  it('is what a tokenizer needs of it: nothing that leaves the tokens as they are', () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
    expect(read({ model: 'm', messages, tools: [], stream: true, max_tokens: 4 })).toEqual({
      kind: 'text',
      form: 'chat',
      fields: { model: 'm', messages, tools: [] },
      salt: '',
    });
    const completion = { kind: 'text', form: 'completion', salt: '' };
    expect(read({ model: 'm', prompt: 'hi', n: 2 })).toEqual({
      ...completion,
      fields: { model: 'm', prompt: 'hi' },
    });
    expect(read({ prompt: ['hi'] })).toEqual({ ...completion, fields: { prompt: 'hi' } });
  });

  it.each([
    ['unknown-body', 'no JSON', ''],
    ['unknown-body', [1], ''],
    ['unknown-body', { input: 'hi' }, ''],
    ['unknown-body', { messages: [] }, '/v1/messages?beta=1'],
    ['unknown-body', { prompt: [1, 'a'] }, ''],
    ['several-prompts', { prompt: ['a', 'b'] }, ''],
    ['several-prompts', { prompt: [[1], [2]] }, ''],
    ['media', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, ''],
  ])('is not to be had: %s of %j', (reason, body, path) => {
    expect(read(body, path)).toEqual({ kind: 'none', reason });
  });
});
