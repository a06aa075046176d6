import { describe, expect, it } from 'vitest';
import type { InferenceRequest } from '../../framework/request.ts';
import { createOpenBody } from '../parsers/open-body.ts';

const open = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 3 });
const NOTE = 'x-anthropic-billing-header: cc_version=2.1.77; cch=';
const RULES = 'You are careful. '.repeat(40);

function body(system: unknown): Uint8Array {
  const messages = [{ role: 'user', content: 'hi' }];
  return new TextEncoder().encode(JSON.stringify({ model: 'm', max_tokens: 1, system, messages }));
}

const blocks = (...texts: readonly string[]): unknown =>
  texts.map((text) => ({ type: 'text', text }));

function read(bytes: Uint8Array, cut = bytes.length): InferenceRequest {
  const reader = open({ id: 'r', path: '/v1/messages', headers: new Map() });
  reader.push(bytes.slice(0, cut));
  reader.push(bytes.slice(cut));
  return reader.end();
}

const promptOf = (...texts: readonly string[]): object => read(body(blocks(...texts))).prompt;

describe('the note on billing in a system prompt', () => {
  it('[G164] is no part of the prompt, wherever the body is cut', () => {
    const without = promptOf(RULES);
    const bytes = body(blocks(`${NOTE}1f3`, RULES));
    const cuts = Array.from({ length: 140 }, (_, at) => at + 1);
    for (const cut of cuts) expect(read(bytes, cut).prompt).toEqual(without);
    expect(promptOf(`${NOTE}9`, RULES)).toEqual(without);
    expect(promptOf(RULES, NOTE)).toEqual(without);
  });

  it.each([
    'x',
    'x-anthropic-billing-',
    'x-anthropic-billing-heads',
    'see x-anthropic-billing-header',
  ])('[G164] is not taken for one: %s', (text) => {
    expect(promptOf(text, RULES)).not.toEqual(promptOf(RULES));
    const bytes = body(blocks(text, RULES));
    const whole = read(bytes).prompt;
    for (let cut = 1; cut < 140; cut++) expect(read(bytes, cut).prompt).toEqual(whole);
  });

  it('[G164] stays where it is the text of a user', () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: `${NOTE}1` }] }];
    const said = new TextEncoder().encode(JSON.stringify({ model: 'm', max_tokens: 1, messages }));
    expect(read(said).promptTokens).toBeGreaterThan(10);
  });
});
