import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { tellFigure } from '../support/figure.ts';

const binary = await envoyBinary();
const TURNS = 8;
const QUESTION_BYTES = 400;
const ANSWER_TOKENS = 300;

interface Message {
  readonly role: string;
  readonly content: string;
}

describe.skipIf(binary === undefined)('conversations, through a real Envoy to a stub', () => {
  let pool: StubPool;
  let stack: Stack;

  beforeAll(async () => {
    pool = await startStubPool(stubOptions.parse({ count: 1, port: 0, speed: 10, model: 'm' }));
    const endpoints = pool.endpoints.map(({ address }) => address);
    stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints });
  });
  afterAll(async () => {
    await stack?.stop();
    await pool?.stop();
  });

  async function counted(name: string): Promise<number> {
    const page = await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`);
    const found = new RegExp(`^\\S*${name} (\\d+)$`, 'm').exec(await page.text());
    return Number(found?.[1] ?? Number.NaN);
  }

  async function say(messages: readonly Message[], stream: boolean): Promise<string> {
    const response = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'm',
        messages,
        max_tokens: ANSWER_TOKENS,
        ignore_eos: true,
        stream,
        ...(stream && { stream_options: { include_usage: true } }),
      }),
    });
    const text = await response.text();
    if (!stream) return (JSON.parse(text) as Whole).choices[0].message.content;
    return text
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => (JSON.parse(line.slice(6)) as Chunk).choices[0]?.delta.content ?? '')
      .join('');
  }

  it.for([true, false])(
    'predicts the cached tokens that the engine reports, earlier answers included (streamed: %s)',
    async (stream, context) => {
      const before = await Promise.all([
        counted('predicted_tokens_total'),
        counted('reported_tokens_total'),
      ]);
      const messages: Message[] = [];
      for (let turn = 0; turn < TURNS; turn++) {
        const content = `${stream} ${turn} `.padEnd(QUESTION_BYTES, 'and what then? ');
        messages.push({ role: 'user', content });
        messages.push({ role: 'assistant', content: await say(messages, stream) });
        await eventually(stack.inFlight, (count) => count === 0);
      }
      const [predicted = 0, reported = 0] = await Promise.all(
        [counted('predicted_tokens_total'), counted('reported_tokens_total')].map(
          async (now, at) => (await now) - (before[at] ?? 0),
        ),
      );
      tellFigure(context, {
        what: `cached tokens over ${TURNS} turns, predicted and reported`,
        promised: 'within 10 %',
        measured: `${predicted} and ${reported}`,
      });
      expect(reported).toBeGreaterThan(8000);
      expect(predicted / reported).toBeGreaterThan(0.9);
      expect(predicted / reported).toBeLessThan(1.02);
    },
  );
});

interface Whole {
  readonly choices: readonly [{ readonly message: { readonly content: string } }];
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}
