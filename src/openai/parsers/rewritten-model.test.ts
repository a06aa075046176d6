import { describe, expect, it } from 'vitest';
import { sharedBlocks } from '../../../test/prompt-blocks.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { editBody } from '../body/body-edit.ts';
import { createOpenBody } from './open-body.ts';

describe('the model of a request', () => {
  const body = { stream: false, model: 'chat', messages: [{ role: 'user', content: 'hi' }] };
  const rewriting = createOpenBody({
    bodyBytesMax: 1_000_000,
    hashSeed: 7,
    rewriteOf: (model) => {
      if (model === 'chat') return { rule: 'canary', model: 'chat-v2' };
      return model === '' ? { rule: 'all', model: 'base' } : undefined;
    },
  });

  function rewritten(
    text: string,
    headers: Readonly<Record<string, string>> = {},
    path = '/v1/chat/completions',
  ): { readonly request: InferenceRequest; readonly sent: string } {
    const reader = rewriting({ id: 'r', path, headers: new Map(Object.entries(headers)) });
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 7) reader.push(bytes.subarray(at, at + 7));
    const request = reader.end();
    return { request, sent: Buffer.concat(editBody(reader.edit, [bytes])).toString() };
  }

  it('is what a rule says of the one in the body, and only that changes there', () => {
    const text = ` {"é":"\\u00e9","model" : "ch\\u0061t" ,"messages":[{"content":"<&>"}], "n":1e0}`;
    const { request, sent } = rewritten(text);
    expect(request).toMatchObject({
      model: 'chat-v2',
      rewrite: { requestedModel: 'chat', rule: 'canary' },
    });
    expect(sent).toBe(text.replace('"ch\\u0061t"', '"chat-v2"'));
  });

  it('is what a header says where no rule does, the current name of the header before the old', () => {
    const text = JSON.stringify({ ...body, model: 'other' });
    const old = { 'x-gateway-model-name-rewrite': 'old' };
    const both = { ...old, 'x-llm-d-model-name-rewrite': 'new' };
    expect(rewritten(text, old).request.model).toBe('old');
    expect(rewritten(text, both).request).toMatchObject({
      model: 'new',
      rewrite: { requestedModel: 'other', rule: undefined },
    });
    expect(rewritten(text, both).sent).toBe(text.replace('other', 'new'));
    expect(rewritten(JSON.stringify(body), both).request.model).toBe('chat-v2');
  });

  it('is put first into a body that names none, if a rule gives one', () => {
    const { model: _, ...nameless } = body;
    const text = ` ${JSON.stringify(nameless)}`;
    const { request, sent } = rewritten(text);
    expect(request).toMatchObject({ model: 'base', rewrite: { requestedModel: '', rule: 'all' } });
    expect(sent).toBe(text.replace('{', '{"model":"base",'));
  });

  it('[D625] takes the place of null, which is no name, if a rule gives one', () => {
    const text = ' {"model" : null,"messages":[{"content":"hi"}]}';
    const { request, sent } = rewritten(text);
    expect(request).toMatchObject({ model: 'base', rewrite: { requestedModel: '', rule: 'all' } });
    expect(sent).toBe(text.replace('null', '"base"'));
    const twice = '{"model":"chat","messages":[{}],"model":null}';
    expect(rewritten(twice).sent).toBe('{"model":"base","messages":[{}],"model":"base"}');
    const generate = JSON.stringify({ model: null, input_ids: [1, 2, 3] });
    expect(rewritten(generate, {}, '/generate').sent).toBe(generate);
  });

  it('[D625] that is null is refused where no rule gives one', () => {
    const plain = createOpenBody({ bodyBytesMax: 1000, hashSeed: 7, rewriteOf: () => undefined });
    const reader = plain({ id: 'r', path: '/v1/chat/completions', headers: new Map() });
    reader.push(Buffer.from('{"model":null,"messages":[{"content":"hi"}]}'));
    expect(() => reader.end()).toThrow('field "model" must be a string, got null');
  });

  it('is not put into a body of an API that has no models', () => {
    const text = JSON.stringify({ input_ids: [1, 2, 3] });
    expect(rewritten(text, {}, '/generate')).toMatchObject({ sent: text, request: { model: '' } });
  });

  it('[V56] is the last one of a body that names several, and all become equal', () => {
    const text = `{"model":"other","messages":[{}],"model":"chat"}`;
    expect(rewritten(text).sent).toBe('{"model":"chat-v2","messages":[{}],"model":"chat-v2"}');
    const other = `{"model":"chat","messages":[{}],"model":"other"}`;
    expect(rewritten(other)).toMatchObject({
      sent: other.replace('chat', 'other'),
      request: { model: 'other' },
    });
    const often = `{"messages":[{}]${',"model":"chat"'.repeat(17)}}`;
    expect(() => rewritten(often)).toThrow('field "model"');
  });

  it('makes another prompt of the same text: caches are apart', () => {
    const long = { ...body, messages: [{ role: 'user', content: 'word '.repeat(400) }] };
    const chat = rewritten(JSON.stringify(long)).request;
    const direct = rewritten(JSON.stringify({ ...long, model: 'chat-v2' })).request;
    const other = rewritten(JSON.stringify({ ...long, model: 'chat-v1' })).request;
    expect(sharedBlocks(chat, direct)).toBeGreaterThan(0);
    expect(sharedBlocks(chat, other)).toBe(0);
  });

  it('that is neither a string nor null is refused whatever rules say', () => {
    for (const model of [7, ['chat']]) {
      expect(() => rewritten(JSON.stringify({ ...body, model }))).toThrow(/model/);
    }
  });

  it('[D454] that is empty is replaced where a rule gives one for any request', () => {
    const text = JSON.stringify({ ...body, model: '' });
    expect(rewritten(text)).toMatchObject({
      request: { model: 'base', rewrite: { requestedModel: '', rule: 'all' } },
      sent: JSON.stringify({ ...body, model: 'base' }),
    });
  });
});
