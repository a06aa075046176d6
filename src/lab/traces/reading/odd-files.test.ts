import { describe, expect, it } from 'vitest';
import { readBytes } from '../../../../test/make-trace.ts';
import type { Trace } from '../trace.ts';

const read = (text: string): Trace => readBytes(text, { lenient: false });

describe('[G253] odd files', () => {
  const run = [{ start_time: 1, end_time: 2, info: { input_tokens: 5, output_tokens: 6 } }];

  it('may begin with a byte order mark, also before JSON over many lines', () => {
    for (const spaces of [undefined, 2]) {
      const text = `\ufeff${JSON.stringify(run, undefined, spaces)}`;
      expect(read(text).requests).toMatchObject([{ promptTokens: 5, outputTokens: 6 }]);
    }
    expect(() => read(`[${JSON.stringify(run[0])},\ufeff]`)).toThrow('not JSON');
  });

  it('may have commas and quotes in quoted values of a CSV', () => {
    const { requests } = read(
      [
        '"Timestamp","Model","Request tokens","Response tokens","Log Type"',
        '0,"Chat,GPT",5,6,"said ""hi"", and left"',
        '1, "plain" ,7,8,',
        '2,,9,10,x',
      ].join('\n'),
    );
    expect(requests.map(({ model, promptTokens }) => [model, promptTokens])).toEqual([
      ['Chat,GPT', 5],
      ['plain', 7],
      ['', 9],
    ]);
  });

  it('may have the NaN and Infinity of Python, which are no numbers', () => {
    const line = '{"timestamp": 0, "input_length": 5, "output_length": NaN, "note": "NaN, \\"NaN"}';
    expect(read(`${line}\n${line.replace(': NaN', ': 4')}`).requests).toMatchObject([
      { outputTokens: 4 },
      { outputTokens: 4 },
    ]);
    expect(() => read('{"timestamp": 0, "input_length": Infinity}')).toThrow(
      'input_length is null',
    );
  });
});
