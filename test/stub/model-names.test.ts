import { describe, expect, test } from 'vitest';
import { stubPoolForTests } from './stub-pool.ts';

/** What vLLM does with the names of models, and a lenient or a strict server would not. */

const stub = stubPoolForTests({ aliases: ['also'], modelRoot: 'org/m', loras: ['a'] });
const messages = [{ role: 'user', content: 'x' }];
const BODY = { messages, prompt: 'x', input: 'x', max_tokens: 1 };

async function ask(path: string, body: object, headers: object = {}): Promise<Response> {
  const type = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) };
  return fetch(stub.url(path), init);
}

const APIS = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses'];

describe.each(APIS)('%s', (path) => {
  test.each([
    ['the first name', 'm', 'm'],
    ['another name', 'also', 'm'],
    ['no name', undefined, 'm'],
    ['null', null, 'm'],
    ['an empty name', '', 'm'],
    ['an adapter', 'a', 'a'],
  ])(
    '[D581] a request with %s is answered under the name of what serves it',
    async (_, model, served) => {
      const response = await ask(path, { ...BODY, model });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ model: served });
    },
  );

  test('[D581] the root of the model is no name of it', async () => {
    const response = await ask(path, { ...BODY, model: 'org/m' });
    expect(response.status).toBe(404);
  });
});

describe('render', () => {
  test.each(['/v1/chat/completions/render', '/v1/completions/render'])(
    '[D581] %s refuses a model that is not served',
    async (path) => {
      expect((await ask(path, { ...BODY, model: 'nobody' })).status).toBe(404);
      expect((await ask(path, { ...BODY, model: 'also' })).status).toBe(200);
    },
  );
});

test.each(['/sleep', '/wake_up', '/reset_prefix_cache'])(
  '[D583] %s answers without a body',
  async (path) => {
    const response = await fetch(stub.url(path), { method: 'POST' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBeNull();
    expect(await response.text()).toBe('');
  },
);

test.each([
  ['0', 200],
  ['one', 200],
  ['', 200],
  ['7', 400],
  ['-1', 400],
])('[D582] the header x-data-parallel-rank: %j is answered with %d', async (rank, status) => {
  const response = await ask(
    '/v1/completions',
    { ...BODY, model: 'm' },
    { 'x-data-parallel-rank': rank },
  );
  expect(response.status).toBe(status);
});
