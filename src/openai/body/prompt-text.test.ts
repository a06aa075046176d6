import { expect, it } from 'vitest';
import type { PromptBlocks } from '../../framework/request.ts';
import { createOpenBody } from '../parsers/open-body.ts';

function promptOf(text: string, pieceBytes: number): PromptBlocks {
  const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7 });
  const path = '/v1/chat/completions';
  const reader = openBody({ id: 'r', path, headers: new Map([[':path', path]]) });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes)
    reader.push(bytes.subarray(at, at + pieceBytes));
  return reader.end().prompt;
}

const LONG = 'what is said '.repeat(100);
const parts = (...texts: readonly string[]): readonly object[] =>
  texts.map((text) => ({ type: 'text', text }));

it.each<[string, string | readonly object[]]>([
  ['text', LONG],
  ['parts', parts(LONG, 'and more', LONG)],
  ['parts with objects in them', [{ type: 'text', cache_control: { type: 'x' }, text: LONG }]],
])('is the same where roles stand before and behind %s', (_, content) => {
  const ask = (message: object): string =>
    JSON.stringify({
      model: 'm',
      messages: [message, { role: 'assistant', content: LONG }, message],
    });
  for (const pieceBytes of [7, 100_000]) {
    const before = promptOf(ask({ role: 'user', content }), pieceBytes);
    const behind = promptOf(ask({ content, role: 'user' }), pieceBytes);
    expect(before.count).toBeGreaterThan(10);
    expect(behind).toEqual(before);
    const other = promptOf(ask({ content, role: 'tool' }), pieceBytes);
    expect(other).not.toEqual(before);
  }
});
