import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerReader } from './answer-reader.ts';

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const token = (text: string): string => event({ choices: [{ index: 0, text }], usage: null });
const end = `${event({
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } },
})}data: [DONE]\n\n`;

function read(text: string, cuts: readonly number[] = []): AnswerReader {
  const reader = new AnswerReader();
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length];
  places.slice(1).forEach((place, at) => {
    reader.push(bytes.subarray(places[at], place));
  });
  return reader;
}

describe('AnswerReader', () => {
  it('counts the same however the bytes are cut', () => {
    const text = `: hello\n\n${token('é"usage":{"error":')}${token('')}${token(' c').replaceAll('\n', '\r\n')}${end}`;
    fc.assert(
      fc.property(fc.array(fc.nat()), (cuts) => {
        const { chunks, counted, done, failure } = read(text, cuts);
        expect({ chunks, done, failure }).toEqual({ chunks: 3, done: true, failure: undefined });
        expect(counted).toEqual({ promptTokens: 9, outputTokens: 3, cachedTokens: 4 });
      }),
      { seed: 6 },
    );
  });

  it('takes the role that a chat begins with for no token', () => {
    const reader = new AnswerReader();
    const said = (delta: object): Buffer => Buffer.from(event({ choices: [{ delta }] }));
    expect(reader.push(said({ role: 'assistant', content: '' }))).toBe(0);
    expect(reader.push(said({ reasoning_content: 'hm' }))).toBe(1);
    expect(reader.push(said({ content: 'a' }))).toBe(1);
    expect(reader.chunks).toBe(2);
  });

  it('reads an error before the first token and after it', () => {
    const error = event({ error: { message: 'gone', code: 500 } });
    for (const text of [error, token('a') + error]) expect(read(text).failure).toContain('gone');
  });

  it('throws on what is no such answer, and on a line without end', () => {
    expect(() => read('data: <html>\n\n')).toThrow(SyntaxError);
    expect(() => read(event({ choices: 'none' }))).toThrow(/choices/);
    expect(() => read('data: '.padEnd(2 ** 20 + 2, 'x'))).toThrow(/more than 1048576 bytes/);
  });
});
