import { describe, expect, it } from 'vitest';
import { readPrompt } from '../../src/openai/read-prompt.ts';
import { readChat } from '../../stub-server/http/requests/read-generation.ts';
import { readMessages } from '../../stub-server/http/requests/read-messages.ts';
import { readResponses } from '../../stub-server/http/requests/read-responses.ts';
import { shownIds } from '../../stub-server/http/requests/tokenizer.ts';
import { makeRequest } from '../makers.ts';
import { stubPoolForTests } from '../stub/stub-pool.ts';
import { MESSAGES_AGENT, RESPONSES_AGENT } from '../support/agent-requests.ts';

/** Requests of other APIs: the tokens that the picker asks for, and those that the stub caches. */

const MESSAGES = { ...MESSAGES_AGENT, max_tokens: 2, stream: false, cache_salt: 's' };
const RESPONSES = { ...RESPONSES_AGENT, max_output_tokens: 2, stream: false, cache_salt: 's' };

describe('the tokens of a request of another API', () => {
  it.each([
    ['/v1/messages', MESSAGES, readMessages],
    ['/v1/messages', { ...MESSAGES, system: 'be kind', tools: [] }, readMessages],
    ['/v1/responses', RESPONSES, readResponses],
    ['/v1/responses', { input: 'hi', instructions: '', tools: null }, readResponses],
  ])('[D597] at the stub are those that the picker asks for: %s %#', (path, body, readAtStub) => {
    const request = makeRequest({ headers: new Map([[':path', path]]) });
    const prompt = readPrompt(request, [new TextEncoder().encode(JSON.stringify(body))]);
    if (prompt.kind !== 'text') throw new Error(`the picker has none: ${JSON.stringify(prompt)}`);
    const asked = prompt.questions.flatMap(({ fields }) => readChat(fields).prompts);
    const { prompts, cacheSalt } = readAtStub(body);
    expect(asked).toEqual(prompts);
    expect(prompt.salt).toBe(cacheSalt);
  });
});

describe('a stub that is asked for tokens', () => {
  const stub = stubPoolForTests();
  const post = async (path: string, body: object): Promise<object> => {
    const headers = { 'content-type': 'application/json' };
    const options = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await (await fetch(stub.url(path), options)).json()) as object;
  };

  it('[D598] renders a request of the Messages API as the chat that it is', async () => {
    const native = await post('/v1/messages/render', MESSAGES);
    const { token_ids } = native as { readonly token_ids: readonly number[] };
    const [whole] = readMessages(MESSAGES).prompts;
    expect(token_ids).toEqual(shownIds(whole ?? new Int32Array(0)));
    expect(token_ids.length).toBeGreaterThan(50);
  });

  it('[D599] has those of a chat with tools and parts at /tokenize, as at render', async () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'is it raining?' }] }];
    const tools = [{ type: 'function', function: { name: 'weather', parameters: {} } }];
    const call = { id: 'c', type: 'function', function: { name: 'weather', arguments: '{"a":1}' } };
    const body = { messages: [...messages, { role: 'assistant', tool_calls: [call] }], tools };
    const rendered = await post('/v1/chat/completions/render', body);
    const { token_ids } = rendered as { readonly token_ids: readonly number[] };
    expect(token_ids.length).toBeGreaterThan(20);
    expect(await post('/tokenize', body)).toMatchObject({
      tokens: token_ids,
      count: token_ids.length,
    });
  });
});
