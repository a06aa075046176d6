import { describe, expect, it } from 'vitest';
import { DEFAULT_MEDIA } from '../../framework/prompt-reading.ts';
import { createOpenBody } from '../parsers/open-body.ts';

const openBody = createOpenBody({
  bodyBytesMax: 1_000_000,
  hashSeed: 7,
  prompts: () => ({ referenceText: true, media: DEFAULT_MEDIA }),
});

/** The blocks of a body, as a number of tokens and their hashes. */
function blocksOf(path: string, body: object | string): readonly [number, string] {
  const reader = openBody({ id: 'r', path, headers: new Map() });
  const text = typeof body === 'string' ? body : JSON.stringify({ model: 'm', ...body });
  const bytes = new TextEncoder().encode(text);
  // In pieces, as chunks arrive.
  for (let at = 0; at < bytes.length; at += 7) reader.push(bytes.subarray(at, at + 7));
  const { promptTokens, prompt } = reader.end();
  return [promptTokens, prompt.words.join()];
}

/** A completion whose prompt is the text itself. */
const text = (prompt: string): readonly [number, string] => blocksOf('/v1/completions', { prompt });

const [CHAT, MESSAGES, RESPONSES] = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];
const LONG = 'Über "quoted" text\n'.repeat(40);
const TOOL = { type: 'function', function: { name: 'f', strict: true, n: 2, x: null, y: [1.5] } };
const TOOL_TEXT = JSON.stringify([TOOL]);

describe("the reference's text of a prompt", () => {
  it.each<[string, string, object, string]>([
    ['decoded prompts', '/v1/completions', { prompt: LONG }, LONG],
    [
      'roles and contents, with nothing between',
      CHAT,
      {
        messages: [
          { role: 'system', content: LONG },
          { role: 'user', content: 'hi' },
        ],
      },
      `system${LONG}userhi`,
    ],
    [
      'the role first',
      CHAT,
      {
        messages: [
          { content: LONG, role: 'user' },
          { content: [], role: 'tool' },
        ],
      },
      `user${LONG}tool`,
    ],
    [
      'tools first, as JSON',
      CHAT,
      { messages: [{ role: 'user', content: LONG }], tools: [TOOL] },
      `${TOOL_TEXT}user${LONG}`,
    ],
    [
      'no empty list of tools',
      CHAT,
      { tools: [], messages: [{ role: 'user', content: LONG }] },
      `user${LONG}`,
    ],
    [
      'parts, and neither names nor calls',
      CHAT,
      {
        messages: [
          { role: 'user', name: 'n', content: [{ type: 'text', text: LONG }] },
          { role: 'assistant', content: null, tool_calls: [{ id: 'c', function: { name: 'f' } }] },
          { role: 'tool', tool_call_id: 'c', content: '<&>' },
        ],
      },
      `user${LONG}assistanttool<&>`,
    ],
    [
      'thoughts, calls and results of Anthropic’s API',
      MESSAGES,
      {
        system: [
          { type: 'text', text: 'x-anthropic-billing-header: 7' },
          { type: 'text', text: 's' },
        ],
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: LONG, signature: 'no' },
              { type: 'tool_use', id: 'i', name: 'n', input: { a: ['b'], c: 1 } },
            ],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'i', content: 'r' }] },
        ],
      },
      `sassistant${LONG}in{"a":["b"],"c":1}userr`,
    ],
    [
      'the struct of an embedding’s text',
      '/v1/embeddings',
      { input: `<b>${LONG}` },
      `{"Raw":${JSON.stringify(`<b>${LONG}`).replace('<', '\\u003c').replace('>', '\\u003e')},"Strings":null,"TokenIDs":null}`,
    ],
    [
      'the struct of an embedding’s texts',
      '/v1/embeddings',
      { input: [LONG, '', 'b'] },
      `{"Raw":"","Strings":${JSON.stringify([LONG, '', 'b'])},"TokenIDs":null}`,
    ],
    [
      'JSON of responses, as Go writes it',
      RESPONSES,
      { input: [{ role: 'user', content: `<b>${LONG}` }], instructions: 'i' },
      `[{"instructions":"i"},{"input":${JSON.stringify([{ role: 'user', content: `<b>${LONG}` }])
        .replaceAll('<', '\\u003c')
        .replaceAll('>', '\\u003e')}}]`,
    ],
    [
      'separators of lines and paragraphs as Go escapes them, wherever they are cut',
      RESPONSES,
      { input: `${'a\u2028…\u2029'.repeat(9)}b` },
      `[{"input":"${String.raw`a\u2028…\u2029`.repeat(9)}b"}]`,
    ],
  ])('[D283] has %s', (_what, path, body, wanted) => {
    expect(blocksOf(path, body)).toEqual(text(wanted));
  });

  it('[D283] takes the last of a repeated field', () => {
    const body = '{"model":"m","prompt":"first","prompt":"second"}';
    expect(blocksOf('/v1/completions', body)).toEqual(text('second'));
  });

  it('[D283] has ids as they are, and an image as many tokens as its estimate, at a whole token', () => {
    const ids = blocksOf('/v1/completions', { prompt: Array.from({ length: 100 }, (_, id) => id) });
    expect(ids[0]).toBe(100);
    const image = { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } };
    const content = [{ type: 'text', text: 'look' }, image];
    expect(blocksOf(CHAT, { messages: [{ role: 'user', content }] })[0]).toBe(2 + 225);
    const odd = [{ type: 'text', text: 'looks' }, image];
    expect(blocksOf(CHAT, { messages: [{ role: 'user', content: odd }] })[0]).toBe(3 + 225);
  });

  it('[D453] has the ids of an embedding as they are', () => {
    const ids = Array.from({ length: 100 }, (_, id) => id);
    const wanted = blocksOf('/v1/completions', { prompt: ids });
    expect(blocksOf('/v1/embeddings', { input: ids })).toEqual(wanted);
  });

  it('[D413] has nothing of the prompt of an image that shall be made', () => {
    expect(blocksOf('/v1/images/generations', { prompt: LONG })).toEqual(text(''));
  });

  it('[D283] distinguishes texts of one byte', () => {
    expect(text('a')).not.toEqual(text('b'));
  });
});
