import { describe, expect, it, test } from 'vitest';
import { DEFAULT_MEDIA } from '../../framework/prompt-reading.ts';
import { type PromptBlocks, TEXTS_MAX, textsOf } from '../../framework/request.ts';
import type { BodyReader } from '../body/body-reader.ts';
import { createOpenBody } from '../parsers/open-body.ts';

const limits = { bodyBytesMax: 10_000_000, hashSeed: 7 };
const own = createOpenBody(limits);
const reference = createOpenBody({
  ...limits,
  prompts: () => ({ referenceText: true, media: DEFAULT_MEDIA }),
});

const [COMPLETIONS, EMBEDDINGS, CHAT] = [
  '/v1/completions',
  '/v1/embeddings',
  '/v1/chat/completions',
];
const [A, B] = ['Question "one": α\n'.repeat(60), 'Another text. '.repeat(50)];
const SHORT = 'short';
const IDS = Array.from({ length: 200 }, (_, id) => 7 * id);

/** A reader that has got the body in pieces, as chunks arrive. */
function read(open: typeof own, path: string, body: object): BodyReader {
  const reader = open({ id: 'r', path, headers: new Map() });
  const bytes = new TextEncoder().encode(JSON.stringify({ model: 'm', ...body }));
  for (let at = 0; at < bytes.length; at += 37) reader.push(bytes.subarray(at, at + 37));
  return reader;
}

/** The hashes of each text, full blocks apart from rests. */
function hashesOf(prompt: PromptBlocks): readonly string[] {
  return textsOf(prompt).map(({ count, words, hasRest }) =>
    [words.subarray(0, 2 * count), hasRest ? words.subarray(2 * count, 2 * count + 2) : ''].join(
      '|',
    ),
  );
}

function texts(open: typeof own, path: string, body: object): readonly string[] {
  return hashesOf(read(open, path, body).end().prompt);
}

describe.each([
  ['our text', own],
  ['the reference’s', reference],
])('with %s, the texts of a request', (_name, open) => {
  const ofPrompt = (prompt: unknown): readonly string[] => texts(open, COMPLETIONS, { prompt });

  test.each<[string, readonly unknown[]]>([
    ['texts', [A, B]],
    ['texts of which the first is short', [SHORT, A, B]],
    ['texts of which some are short', [A, SHORT, B, SHORT]],
    ['equal texts', [A, A]],
    ['lists of token ids', [IDS, [1, 2, 3], IDS.slice(1)]],
    ['one text', [A]],
    ['one list of token ids', [IDS]],
  ])('[D470] have the blocks that each has alone: %s', (_what, prompt) => {
    expect(ofPrompt(prompt)).toEqual(prompt.flatMap((text) => ofPrompt(text)));
  });

  test('[D470] share blocks with a request that begins alike, wherever they stand', () => {
    const [, second] = ofPrompt([B, `${A}tail`]);
    const [first] = ofPrompt(`${A}other tail`);
    expect(second?.slice(0, 60)).toBe(first?.slice(0, 60));
  });

  test('[D470] are as many tokens as before, and count as full blocks while the body comes', () => {
    const { promptTokens } = read(open, COMPLETIONS, { prompt: [A, B] }).end();
    const alone = [A, B].map((prompt) => read(open, COMPLETIONS, { prompt }).end().promptTokens);
    expect(Math.abs(promptTokens - (alone[0] ?? 0) - (alone[1] ?? 0))).toBeLessThanOrEqual(1);
    const reader = open({ id: 'r', path: COMPLETIONS, headers: new Map() });
    reader.push(
      new TextEncoder().encode(JSON.stringify({ model: 'm', prompt: [A, B] }).slice(0, -9)),
    );
    const [, open2] = textsOf(reader.peek().prompt);
    expect(open2).toMatchObject({ count: Math.floor((B.length - 6) / 256) });
    expect(open2?.hasRest).toBeUndefined();
  });

  test('[D470] empty ones have no blocks', () => {
    expect(ofPrompt(['', A, ''])).toEqual(ofPrompt(A));
    expect(ofPrompt(['', ''])).toHaveLength(1);
  });

  test('[D470] are the last of as many as have blocks of their own, where there are more', () => {
    const many = Array.from({ length: TEXTS_MAX + 5 }, (_, text) => `text ${text}`);
    const found = ofPrompt(many);
    expect(found).toHaveLength(TEXTS_MAX);
    expect(found.slice(0, -1)).toEqual(
      many.slice(0, TEXTS_MAX - 1).flatMap((text) => ofPrompt(text)),
    );
  });
});

it('[D470] embeddings have blocks for each text, and the messages of a chat are one text', () => {
  const input = (of: unknown): readonly string[] => texts(own, EMBEDDINGS, { input: of });
  expect(input([A, B])).toEqual([A, B].flatMap((text) => input(text)));
  const messages = [A, B].map((content) => ({ role: 'user', content }));
  expect(texts(own, CHAT, { messages })).toHaveLength(1);
  expect(texts(own, COMPLETIONS, { prompt: A, stop: ['a', 'b'] })).toHaveLength(1);
});

describe('the documents of a ranking', () => {
  const ranked = (query: string, documents: readonly string[]): readonly string[] =>
    texts(own, '/v1/rerank', { query, documents });
  const words = (path: string, body: object): readonly PromptBlocks[] =>
    textsOf(read(own, path, body).end().prompt);

  test('[D546] stand behind the query, whose blocks are those of the first', () => {
    const [query] = words('/v1/rerank', { query: B });
    const [a, b] = words(COMPLETIONS, { prompt: [A, B] });
    const found = words('/v1/rerank', { documents: [A, B], query: B });
    expect(found).toHaveLength(2);
    const head = 2 * (query?.count ?? 0);
    expect(head).toBeGreaterThan(0);
    expect(found[0]?.words.subarray(0, head)).toEqual(query?.words.subarray(0, head));
    expect(found[0]?.count).toBe((query?.count ?? 0) + (a?.count ?? 0));
    expect(found[1]?.count).toBe(b?.count);
  });

  test('[D546] are the same behind the same query only, in any order', () => {
    const [, b, c] = ranked('q', [A, B, `${B}c`]);
    expect(ranked('q', [B, `${B}c`, B]).slice(1)).toEqual([c, b]);
    expect(ranked('other', [A, B]).at(-1)).not.toBe(b);
    const scored = (from: object): readonly string[] => texts(own, '/score', from);
    expect(scored({ text_1: 'q', text_2: [A, B] })).toHaveLength(2);
    expect(scored({ text_1: ['q', 'r'], text_2: [A, B] })).toHaveLength(2);
  });

  test('[D546] have no blocks for the reference’s index', () => {
    const { prompt, promptTokens } = read(reference, '/rerank', { query: A, documents: [B] }).end();
    expect([prompt.count, promptTokens]).toEqual([0, 1]);
  });
});
