import { describe, expect, test } from 'vitest';
import { stubPoolForTests } from './stub-pool.ts';

/** Errors have the form that clients of each API and engine read. */

const vllm = stubPoolForTests();
const sglang = stubPoolForTests({ engine: 'sglang' });

async function errorAt(url: string): Promise<unknown> {
  const body = {
    model: 'nobody',
    messages: [{ role: 'user', content: 'x' }],
    input: 'x',
    max_tokens: 1,
  };
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.status).toBe(404);
  return response.json();
}

const message = 'The model `nobody` does not exist.';
const fields = { message, type: 'NotFoundError', param: 'model', code: 404 };
const anthropic = { type: 'error', error: { type: 'NotFoundError', message } };

describe('an error', () => {
  test.each([
    ['/v1/chat/completions', { error: fields }],
    ['/v1/responses', { error: fields }],
    ['/v1/messages', anthropic],
  ])('[B35] at %s has vLLM’s form', async (path, body) => {
    expect(await errorAt(vllm.url(path))).toEqual(body);
  });

  test.each([
    ['/v1/chat/completions', { object: 'error', ...fields }],
    ['/v1/responses', { error: fields }],
    ['/v1/messages', anthropic],
  ])('[B35] at %s has SGLang’s form where the engine is SGLang', async (path, body) => {
    expect(await errorAt(sglang.url(path))).toEqual(body);
  });

  test('[B35] names the field by its path', async () => {
    const body = JSON.stringify({ model: 'm', messages: [{ role: 7, content: 'x' }] });
    const headers = { 'content-type': 'application/json' };
    const url = vllm.url('/v1/chat/completions');
    const response = await fetch(url, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: 'messages.0.role' } });
  });

  test('[B35] and the list of models name the engine', async () => {
    const ownerAt = async (url: string): Promise<unknown> =>
      ((await (await fetch(url)).json()) as { data: { owned_by: string }[] }).data[0]?.owned_by;
    expect(await ownerAt(vllm.url('/v1/models'))).toBe('vllm');
    expect(await ownerAt(sglang.url('/v1/models'))).toBe('sglang');
  });
});
