import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LongTexts } from './long-texts.ts';
import { type GenerationRequest, readChat, readCompletion } from './read-generation.ts';

const PADDING = 'far '.repeat(4096);

/** What the texts of a body come to by way of `LongTexts`. */
function promptOf(json: string): string {
  const { value, bytesOf } = new LongTexts(Buffer.from(json));
  return bytesOf((value as { prompt: string }).prompt).toString('utf8');
}

/** With what was asked as a value. */
function values({ asked, ...others }: GenerationRequest): object {
  return { ...others, asked: asked(0) };
}

describe('long texts', () => {
  it('are what JSON.parse says, whatever is in them', () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    fc.assert(
      fc.property(
        text,
        text,
        fc.boolean(),
        fc.integer({ min: 0, max: 3 }),
        (a, b, pretty, shift) => {
          const prompt = `${a}${PADDING.slice(shift)}${b}${PADDING}${a}`;
          const json = JSON.stringify({ [a]: b, prompt, other: [b] }, undefined, pretty ? 2 : 0);
          const parsed = JSON.parse(json) as { prompt: string };
          // A lone surrogate has no bytes of its own: either way it becomes U+FFFD.
          expect(promptOf(json)).toBe(Buffer.from(parsed.prompt).toString('utf8'));
        },
      ),
      { seed: 5 },
    );
  });

  it('are not parsed', () => {
    const json = JSON.stringify({ prompt: `"quoted"\n${PADDING}`, model: 'm' });
    const { value } = new LongTexts(Buffer.from(json));
    expect(JSON.stringify(value).length).toBeLessThan(100);
  });

  it.each([
    ['a control character', `{"prompt":"${PADDING}\n"}`],
    ['an unknown escape', `{"prompt":"${PADDING}\\x"}`],
    ['half an escape', `{"prompt":"${PADDING}\\u12"}`],
    ['no end', `{"prompt":"${PADDING}`],
    ['text behind the end', `{"prompt":"${PADDING}"} "${PADDING}`],
  ])('are refused with %s as any other', (_what, json) => {
    expect(() => new LongTexts(Buffer.from(json))).toThrow(SyntaxError);
  });

  it('cannot be forged', () => {
    const { value } = new LongTexts(Buffer.from(JSON.stringify({ prompt: PADDING })));
    const mark = (value as { prompt: string }).prompt;
    const prompt = `${PADDING}${mark}`;
    expect(promptOf(JSON.stringify({ prompt, other: mark }))).toBe(prompt);
  });

  it('make the same request of a body, in every place where a prompt may stand', () => {
    const messages = [
      { role: 'system', content: PADDING },
      {
        role: 'user',
        content: [
          { type: 'text', text: `a\t${PADDING}` },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'assistant', content: null },
    ];
    const tools = [{ type: 'function', function: { name: 'f', description: PADDING } }];
    const chat = { model: 'm', messages, tools };
    const read = new LongTexts(Buffer.from(JSON.stringify(chat)));
    expect(values(readChat(read.value, read.bytesOf))).toEqual(values(readChat(chat)));
    for (const prompt of [PADDING, [PADDING, 'x'], 'x']) {
      const completion = { model: 'm', prompt };
      const long = new LongTexts(Buffer.from(JSON.stringify(completion)));
      const read = readCompletion(long.value, long.bytesOf);
      expect(values(read)).toEqual(values(readCompletion(completion)));
    }
  });
});
