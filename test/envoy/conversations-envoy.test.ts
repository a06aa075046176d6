import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, type Stack, startStack } from '../../bench/support/stack.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';

/** Conversations of eight turns in each API, by official clients, through a real Envoy. */

const binary = await envoyBinary();
const SERVERS = 3;
const TURNS = 8;
const CONVERSATIONS = 4;
const question = (turn: number, name: string): string =>
  `Question ${turn} of ${name}: ${'what else is there to say about it? '.repeat(50)}`;

interface Turn {
  readonly name: string;
  readonly stream: boolean;
}

/** Sends all turns of a conversation, each with the answers before it. */
type Conversation = (url: string, turn: Turn) => Promise<void>;

const chat: Conversation = async (url, { name, stream }) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    messages.push({ role: 'user', content: question(turn, name) });
    const answer = stream
      ? await client.chat.completions
          .stream({ model: 'm', messages, stream_options: { include_usage: true } })
          .finalMessage()
      : (await client.chat.completions.create({ model: 'm', messages })).choices[0]?.message;
    messages.push({ role: 'assistant', content: answer?.content ?? '' });
  }
};

const responses: Conversation = async (url, { name, stream }) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const input: OpenAI.Responses.ResponseInputItem[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    input.push({ role: 'user', content: question(turn, name) });
    const request = { model: 'm', input };
    const { output } = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
  }
};

const messages: Conversation = async (url, { name, stream }) => {
  const client = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 });
  const turns: Anthropic.MessageParam[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    turns.push({ role: 'user', content: question(turn, name) });
    const request = { model: 'm', max_tokens: 1000, messages: turns };
    const { content } = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    turns.push({ role: 'assistant', content });
  }
};

describe.skipIf(binary === undefined)('conversations through Envoy', () => {
  let pool: StubPool;
  let stack: Stack;

  beforeAll(async () => {
    const options = { count: SERVERS, port: 0, speed: 10, model: 'm', blockTokens: 16 };
    pool = await startStubPool(stubOptions.parse(options));
  });
  afterAll(async () => pool?.stop());

  it.each([
    ['chat completions', chat, false],
    ['chat completions, streamed', chat, true],
    ['responses', responses, false],
    ['responses, streamed', responses, true],
    ['messages', messages, false],
    ['messages, streamed', messages, true],
  ])(
    '[P35] %s: the cached tokens are predicted within a twentieth of what servers report',
    async (api, converse, stream) => {
      const endpoints = pool.endpoints.map(({ address }) => address);
      stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints });
      try {
        const names = Array.from({ length: CONVERSATIONS }, (_, at) => `${api} ${at}`);
        await Promise.all(names.map((name) => converse(stack.url, { name, stream })));
        const [predicted, reported] = await cachedTokens();
        expect(reported).toBeGreaterThan(CONVERSATIONS * TURNS * 100);
        expect(predicted / reported).toBeGreaterThan(0.95);
        expect(predicted / reported).toBeLessThan(1.05);
      } finally {
        await stack.stop();
      }
    },
  );

  async function cachedTokens(): Promise<readonly [predicted: number, reported: number]> {
    const page = await (
      await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`)
    ).text();
    const value = (name: string): number =>
      Number(new RegExp(`^llm_d_epp_${name} (\\d+)`, 'm').exec(page)?.[1]);
    return [value('prefix_predicted_tokens_total'), value('prefix_reported_tokens_total')];
  }
});
