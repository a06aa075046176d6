import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { imageOf } from '../stub/image.ts';

/** Conversations about images through a real Envoy: what the picker expects of caches. */

const binary = await envoyBinary();
const TURNS = 6;
const CONVERSATIONS = 4;

describe.skipIf(binary === undefined)('conversations with images through Envoy', () => {
  let pool: StubPool;
  let stack: Stack;
  beforeAll(async () => {
    const options = { count: 3, port: 0, speed: 10, model: 'm', blockTokens: 16 };
    pool = await startStubPool(stubOptions.parse(options));
  });
  afterAll(async () => pool?.stop());

  test.each([
    ['small ones in the body', (name: string) => imageOf(name, 600)],
    ['large ones in the body', (name: string) => imageOf(name, 60_000)],
    ['URLs', (name: string) => `https://images.test/${name.replaceAll(' ', '-')}.png`],
  ])(
    '[B26] %s: cached tokens are predicted within a twentieth of what is reported',
    async (_, urlOf) => {
      const endpoints = pool.endpoints.map(({ address }) => address);
      stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints });
      try {
        const names = Array.from(
          { length: CONVERSATIONS },
          (_each, at) => `conversation ${at} ${urlOf('x').length}`,
        );
        await Promise.all(names.map((name) => converse(stack.url, name, urlOf)));
        // An answer's usage counts once the picker has seen its end, which may be after the client.
        await eventually(stack.inFlight, (requests) => requests === 0);
        const page = await (
          await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`)
        ).text();
        const value = (name: string): number =>
          Number(new RegExp(`^llm_d_epp_prefix_${name}_tokens_total (\\d+)`, 'm').exec(page)?.[1]);
        expect(value('reported')).toBeGreaterThan(CONVERSATIONS * TURNS * 100);
        expect(value('predicted') / value('reported')).toBeGreaterThan(0.95);
        expect(value('predicted') / value('reported')).toBeLessThan(1.05);
      } finally {
        await stack.stop();
      }
    },
  );
});

/** Each turn shows another image and asks about it. */
async function converse(url: string, name: string, urlOf: (name: string) => string): Promise<void> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const text = `Question ${turn} of ${name}: ${'what else is there to see? '.repeat(40)}`;
    const image_url = { url: urlOf(`${name} ${turn}`) };
    messages.push({
      role: 'user',
      content: [
        { type: 'image_url', image_url },
        { type: 'text', text },
      ],
    });
    const { choices } = await client.chat.completions.create({ model: 'm', messages });
    messages.push({ role: 'assistant', content: choices[0]?.message.content ?? '' });
  }
}
