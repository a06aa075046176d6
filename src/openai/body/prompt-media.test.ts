import { describe, expect, test } from 'vitest';
import { DEFAULT_MEDIA } from '../../framework/prompt-reading.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { createOpenBody } from '../parsers/open-body.ts';
import { mediaItems } from '../prompts/media-items.ts';

/** Which strings of a body are images, sounds, videos and files, and which only have such names. */

const [MESSAGES, CHAT, RESPONSES] = ['/v1/messages', '/v1/chat/completions', '/v1/responses'];
const LINK = 'https://example.org/a';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAE';

function read(path: string, body: object, referenceText: boolean): InferenceRequest {
  const prompts = () => (referenceText ? { referenceText, media: DEFAULT_MEDIA } : undefined);
  const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7, prompts });
  const reader = openBody({ id: 'r', path, headers: new Map([[':path', path]]) });
  for (const byte of Buffer.from(JSON.stringify({ model: 'm', ...body }))) {
    reader.push(Uint8Array.of(byte));
  }
  return reader.end();
}

const part = (content: object): object => ({ messages: [{ role: 'user', content: [content] }] });
const item = (each: object): object => ({ input: [each] });
const result = (url: string): object => ({ type: 'web_search_result', url, title: 'a title' });
const document = (source: object): object => part({ type: 'document', source });

const NONE: readonly (readonly [what: string, path: string, body: object])[] = [
  [
    'what a tool is asked for',
    MESSAGES,
    part({ type: 'tool_use', id: 't', name: 'get', input: { url: LINK, image_url: LINK } }),
  ],
  [
    'what a search found',
    MESSAGES,
    part({ type: 'web_search_tool_result', content: [result(LINK), result(`${LINK}/b`)] }),
  ],
  ['a found page', MESSAGES, part({ type: 'search_result', source: LINK, title: 'a title' })],
  ['hidden thoughts', MESSAGES, part({ type: 'redacted_thinking', data: 'abc' })],
  ['a document as text', MESSAGES, document({ type: 'text', data: 'a text' })],
  [
    'examples of a tool',
    CHAT,
    {
      tools: [{ type: 'function', function: { parameters: { examples: [{ image_url: LINK }] } } }],
      messages: [{ role: 'user', content: 'x' }],
    },
  ],
  [
    'what an answer cites',
    CHAT,
    { messages: [{ role: 'assistant', annotations: [{ url_citation: { url: LINK } }] }] },
  ],
  [
    'what a response cites',
    RESPONSES,
    item({ content: [{ type: 'output_text', text: 'x', annotations: [{ url: LINK }] }] }),
  ],
  ['an opened page', RESPONSES, item({ type: 'web_search_call', action: { url: LINK } })],
];

const ONE: readonly (readonly [what: string, path: string, body: object])[] = [
  ['an image', MESSAGES, part({ type: 'image', source: { type: 'url', url: LINK } })],
  [
    'an image of a tool',
    MESSAGES,
    part({ type: 'tool_result', content: [{ type: 'image', source: { data: PNG } }] }),
  ],
  ['a document', MESSAGES, document({ type: 'base64', data: 'JVBERi0x' })],
  ['an image', CHAT, part({ type: 'image_url', image_url: { url: LINK } })],
  ['a sound', CHAT, part({ type: 'input_audio', input_audio: { data: 'UklGRg', format: 'wav' } })],
  ['a video', CHAT, part({ type: 'video_url', video_url: { url: LINK } })],
  ['a file', CHAT, part({ type: 'file', file: { file_data: 'data:a/b;base64,JVBE' } })],
  ['an image', RESPONSES, item({ content: [{ type: 'input_image', image_url: LINK }] })],
  ['a file', RESPONSES, item({ content: [{ type: 'input_file', file_data: 'JVBE' }] })],
  [
    'a picture of a screen',
    RESPONSES,
    item({ type: 'computer_call_output', output: { image_url: LINK } }),
  ],
];

describe.each([
  ['by bytes', false],
  ['as the reference', true],
])('media of a prompt, %s', (_how, asReference) => {
  test.each(NONE)('[D477] are not %s in %s', (_what, path, body) => {
    const request = read(path, body, asReference);
    expect(request.mediaItems ?? 0).toBe(0);
    // A medium would have 225 tokens or more. The reference's text has its own rules.
    if (!asReference) expect(request.promptTokens).toBeLessThan(100);
  });

  test.each(ONE)('[D477] are %s in %s', (_what, path, body) => {
    expect(read(path, body, asReference).mediaItems).toBe(1);
  });
});

test('[D477] a text of a list is none because an earlier item has one at its depth', () => {
  const screen = { type: 'computer_call_output', output: { image_url: LINK } };
  const search = { type: 'file_search_call', queries: ['a', 'b'] };
  expect(read(RESPONSES, { input: [screen, search] }, false).mediaItems).toBe(1);
});

test('[D478] for the reference’s index, escapes in a medium change nothing', () => {
  const image = { image_url: { url: `data:image/png;base64,${PNG}////` } };
  const raw = JSON.stringify({ model: 'm', ...part({ type: 'image_url', ...image }) });
  const blocksOf = (body: string) => {
    const prompts = () => ({ referenceText: true, media: DEFAULT_MEDIA });
    const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7, prompts });
    const reader = openBody({ id: 'r', path: CHAT, headers: new Map([[':path', CHAT]]) });
    for (const byte of Buffer.from(body)) reader.push(Uint8Array.of(byte));
    return [...reader.end().prompt.words];
  };
  expect(blocksOf(raw)).toHaveLength(8);
  expect(blocksOf(raw.replaceAll('/', String.raw`\/`))).toEqual(blocksOf(raw));
  expect(blocksOf(raw.replaceAll('base64', String.raw`\u0062ase64`))).toEqual(blocksOf(raw));
});

test('[D477] encoders are asked for nothing that only names a page, or is text', () => {
  const found = (body: object) => mediaItems([Buffer.from(JSON.stringify(body))]);
  expect(found(part({ type: 'search_result', source: LINK }))).toEqual([]);
  expect(found(document({ type: 'text', data: 'a text' }))).toEqual([]);
  expect(found(part({ type: 'image', source: { type: 'url', url: LINK } }))).toHaveLength(1);
});
