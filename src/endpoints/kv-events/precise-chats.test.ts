import { describe, expect, it } from 'vitest';
import { startPreciseIndex as setUp, stored } from '../../../test/support/precise-index.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { tokenProducer } from '../tokenize/token-producer.ts';

/** Requests of APIs that servers read as chats, and how their tokens are asked for. */

const IDS = Array.from({ length: 16 }, (_, at) => 100 + at);
const UNIT = { tokenProcessorConfig: { blockSizeTokens: 4 } };
const MESSAGES = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] };
const to = (path: string) => ({ headers: new Map([[':path', path]]) });

function setUpWith(vllm: object) {
  const body = new TextEncoder().encode(JSON.stringify({ token_ids: IDS }));
  const made = setUp(UNIT, () => ({ status: 200, body }));
  const endpoint = made.add('10.0.0.1');
  made.publisher('tcp://10.0.0.1:5557')(stored(IDS));
  const network = { get: () => Promise.reject(new Error('not asked')) };
  const runtime = { clock: new SimulatedClock(), random: seededRandom(1), network };
  const parameters = tokenProducer.config.parse({ vllm });
  tokenProducer.start(parameters, { name: 'token-producer', pool: made.pool, runtime });
  return { ...made, endpoint };
}

describe('a precise index', () => {
  it('[D587] [D588] finds the endpoints that hold prompts of other APIs, by the tokens of their chats', async () => {
    const { request, clock, match, endpoint, asked, index } = setUpWith({ url: 'http://r:1' });
    const responses = request({ model: 'm', input: 'hi' }, to('/v1/responses'));
    await clock.run();
    const messages = request(MESSAGES, to('/v1/messages'));
    await clock.run();
    for (const { isReady, request: made } of [responses, messages]) {
      expect(isReady()).toBe(true);
      expect(match(made).matchedBlocks(endpoint)).toBe(4);
    }
    expect(asked).toEqual(Array(2).fill('http://r:1/v1/chat/completions/render'));
    expect([...index.prompts.counts]).toEqual([['tokenizer', 2]]);
  });

  it('[D589] counts why a request of another API has no tokens', () => {
    const { request, asked, index } = setUpWith({ url: 'http://r:1' });
    const kept = { model: 'm', input: 'hi', previous_response_id: 'r' };
    expect(request(kept, to('/v1/responses')).waits).toBe(false);
    const image = [{ type: 'image', source: { type: 'url', url: 'http://i' } }];
    const shown = { ...MESSAGES, messages: [{ role: 'user', content: image }] };
    expect(request(shown, to('/v1/messages')).waits).toBe(false);
    expect(asked).toEqual([]);
    expect([...index.prompts.counts]).toEqual([
      ['no-chat', 1],
      ['media', 1],
    ]);
  });

  it.each([
    ['native', 'messages'],
    ['legacy', 'chat/completions'],
    ['auto', 'chat/completions'],
  ])('[D598] has the Messages API rendered as messagesRenderMode says: %s', async (mode, path) => {
    const vllm = { url: 'http://r:1', messagesRenderMode: mode };
    const { request, clock, match, endpoint, asked } = setUpWith(vllm);
    const { request: made } = request(MESSAGES, to('/v1/messages'));
    await clock.run();
    expect(asked).toEqual([`http://r:1/v1/${path}/render`]);
    expect(match(made).matchedBlocks(endpoint)).toBe(4);
  });

  it('[D598] asks the servers of the pool for chats, whatever messagesRenderMode is', async () => {
    const vllm = { endpointDiscovery: {}, messagesRenderMode: 'native' };
    const { request, clock, asked } = setUpWith(vllm);
    request(MESSAGES, to('/v1/messages'));
    await clock.run();
    expect(asked).toEqual(['http://10.0.0.1:8000/tokenize']);
  });
});
