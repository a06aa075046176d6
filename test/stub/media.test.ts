import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { IMAGE_TOKENS, imageOf } from './image.ts';
import { stubPoolForTests } from './stub-pool.ts';

const stub = stubPoolForTests({ encoder: { itemMs: 40, perTokenMs: 0, cacheTokens: 1000 } });
const openai = (): OpenAI =>
  new OpenAI({ baseURL: stub.url('/v1'), apiKey: 'none', maxRetries: 0 });

type Content = OpenAI.ChatCompletionContentPart[];
const picture = (name: string): OpenAI.ChatCompletionContentPartImage => ({
  type: 'image_url',
  image_url: { url: imageOf(name) },
});

async function usageOf(content: Content): Promise<readonly [prompt: number, cached: number]> {
  const messages = [{ role: 'user' as const, content }];
  const { usage } = await openai().chat.completions.create({ model: 'm', messages, max_tokens: 1 });
  return [usage?.prompt_tokens ?? 0, usage?.prompt_tokens_details?.cached_tokens ?? 0];
}

async function counts(): Promise<readonly number[]> {
  const page = await (await fetch(stub.url('/metrics'))).text();
  return ['queries', 'hits'].map((name) =>
    Number(new RegExp(`^vllm:mm_cache_${name}_total\\{[^}]*\\} (.*)$`, 'm').exec(page)?.[1]),
  );
}

describe('media', () => {
  test('[B25] take placeholder tokens by their size, whatever their bytes', async () => {
    const text: Content = [{ type: 'text', text: 'What is this?' }];
    const [without] = await usageOf(text);
    const [withOne] = await usageOf([...text, picture('a')]);
    expect(withOne - without).toBe(IMAGE_TOKENS);
    const sound: Content = [
      ...text,
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
    ];
    expect((await usageOf(sound))[0] - without).toBe(225);
  });

  test('[B25] are part of the block chain: other media are other prompts', async () => {
    const content = (name: string): Content => [
      picture(name),
      { type: 'text', text: 'and what else is there? '.repeat(40) },
    ];
    const [prompt] = await usageOf(content('first'));
    const [, again] = await usageOf(content('first'));
    expect(again).toBeGreaterThan(prompt - 32);
    const [, other] = await usageOf(content('second'));
    expect(other).toBeLessThan(32);
  });

  test('[B25] cost the encoder’s time once, and count in the metrics of its cache', async () => {
    const [queries = 0, hits = 0] = await counts();
    const timed = async (text: string): Promise<void> =>
      void (await usageOf([{ type: 'text', text }, picture('timed')]));
    await timed('one');
    await timed('two');
    expect(await counts()).toEqual([queries + 2, hits + 1]);
    const page = await (await fetch(stub.url('/metrics'))).text();
    const slow = /time_to_first_token_seconds_bucket\{[^}]*le="0.04"[^}]*\} (.*)/.exec(page)?.[1];
    const all = /time_to_first_token_seconds_count\{[^}]*\} (.*)/.exec(page)?.[1];
    expect(Number(all) - Number(slow)).toBeGreaterThan(0);
  });

  test('[B25] are counted alike in every API that takes them', async () => {
    const image = imageOf('shared');
    const input: OpenAI.Responses.ResponseInputItem[] = [
      { role: 'user', content: [{ type: 'input_image', image_url: image, detail: 'auto' }] },
    ];
    const responses = await openai().responses.create({ model: 'm', input, max_output_tokens: 1 });
    expect(responses.usage?.input_tokens).toBeGreaterThan(IMAGE_TOKENS);
    const anthropic = new Anthropic({ baseURL: stub.url(''), apiKey: 'none', maxRetries: 0 });
    const source = {
      type: 'base64' as const,
      media_type: 'image/png' as const,
      data: image.split(',')[1] ?? '',
    };
    const content: Anthropic.ContentBlockParam[] = [{ type: 'image', source }];
    const message = await anthropic.messages.create({
      model: 'm',
      max_tokens: 1,
      messages: [{ role: 'user', content }],
    });
    expect(message.usage.input_tokens).toBeGreaterThan(IMAGE_TOKENS);
  });

  test('[B25] are named with their places by /render', async () => {
    const body = JSON.stringify({
      model: 'm',
      messages: [{ role: 'user', content: [picture('a'), picture('b')] }],
    });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(stub.url('/v1/chat/completions/render'), {
      method: 'POST',
      headers,
      body,
    });
    const { features, token_ids: ids } = (await answer.json()) as {
      features: {
        mm_hashes: { image: string[] };
        mm_placeholders: { image: { offset: number; length: number }[] };
      };
      token_ids: number[];
    };
    expect(new Set(features.mm_hashes.image).size).toBe(2);
    const [first, second] = features.mm_placeholders.image;
    expect(second?.offset).toBe((first?.offset ?? 0) + (first?.length ?? 0));
    expect(ids.length).toBeGreaterThan(2 * IMAGE_TOKENS);
  });
});
