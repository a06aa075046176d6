import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ModelRestorer } from './model-restorer.ts';

interface Options {
  readonly served?: string;
  readonly requested?: string;
  readonly eventStream?: boolean;
  readonly cuts?: readonly number[];
}

function restore(
  text: string,
  { served = 'served-7b', requested = 'chat', eventStream = false, cuts = [] }: Options = {},
): string {
  const restorer = new ModelRestorer({ served, requested, eventStream });
  const bytes = Buffer.from(text);
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  at.sort((a, b) => a - b);
  const out: Uint8Array[] = [];
  for (let index = 1; index < at.length; index++) {
    const chunk = Buffer.from(bytes.subarray(at[index - 1], at[index]));
    // Copied at once, as the result may hold views.
    out.push(...restorer.push(chunk).map((piece) => Buffer.from(piece)));
    // The chunk's memory may be reused afterwards.
    chunk.fill(0);
  }
  out.push(...restorer.end());
  return Buffer.concat(out).toString();
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const delta = (model: string, content: string): string =>
  event({ id: 'c-1', model, choices: [{ delta: { content } }] });

describe('restoring the model’s name', () => {
  it('changes the name at the top of a JSON answer and no other byte', () => {
    const answer = (model: string): string =>
      `{ "id":"x",\t"model" :\n "${model}", "usage":{"prompt_tokens":5,"model":"served-7b"},"z":1, "a":"\\u0041" }\n`;
    expect(restore(answer('served-7b'))).toBe(answer('chat'));
  });

  it('changes it in each event of a stream', () => {
    const stream = (model: string): string =>
      `: ping "\n\n${delta(model, 'a')}${delta(model, 'b')}data: [DONE]\n\n`;
    expect(restore(stream('served-7b'), { eventStream: true })).toBe(stream('chat'));
  });

  it('changes it where the streams of the messages and the responses API have it', () => {
    for (const key of ['message', 'response']) {
      const stream = (model: string): string =>
        `event: ${key}_start\n${event({ type: 'start', [key]: { id: 'm', content: [], model } })}`;
      expect(restore(stream('served-7b'), { eventStream: true })).toBe(stream('chat'));
    }
  });

  it.each([
    ['in the text', { choices: [{ text: '"model":"served-7b"', model: 'served-7b' }] }],
    ['under another key', { object: 'served-7b', models: 'served-7b', 'x"model': 'served-7b' }],
    ['in a list', { model: ['served-7b'], data: [{ model: 'served-7b' }] }],
    ['deeper down', { model: { model: 'served-7b' }, message: { a: { model: 'served-7b' } } }],
    ['as a part of another name', { model: 'served-7b-v2' }],
    ['as the beginning of one', { model: 'served' }],
  ])('leaves the name alone %s', (_where, answer) => {
    const text = JSON.stringify(answer);
    expect(restore(text)).toBe(text);
  });

  it('finds a name by its text, however it is escaped, and escapes the other as JSON does', () => {
    const options = { served: 'org/"modèle"', requested: 'a"\\\u0001é' };
    expect(restore('{"model":"org\\/\\"mod\\u00e8le\\""}', options)).toBe(
      `{"model":${JSON.stringify(options.requested)}}`,
    );
  });

  it('gives the same whatever the chunks are, and holds nothing back at the end', () => {
    const json = fc.array(
      fc.record({
        model: fc.constantFrom('served-7b', 'other', 'served-7b"', 'served', ''),
        content: fc.oneof(
          fc.string({ maxLength: 20 }),
          fc.constantFrom('"model":"served-7b"', '\\"', '{', '}]', 'é\n\n', '\\\\'),
        ),
      }),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(json, fc.array(fc.nat(5000), { maxLength: 60 }), (events, cuts) => {
        const stream = (restored: boolean): string =>
          events
            .map(({ model, content }) =>
              delta(restored && model === 'served-7b' ? 'chat' : model, content),
            )
            .join('');
        expect(restore(stream(false), { eventStream: true, cuts })).toBe(stream(true));
      }),
      { numRuns: 1000, seed: 8 },
    );
  });

  it('passes anything else byte for byte, broken JSON and no JSON', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom('"', '\\', '{', '}', '[', ':', ',', '\n', 'model', '"model":', '"x'),
        ),
        fc.array(fc.nat(200), { maxLength: 20 }),
        fc.boolean(),
        (parts, cuts, eventStream) => {
          const text = parts.join('');
          expect(restore(text, { cuts, eventStream })).toBe(text);
        },
      ),
      { numRuns: 2000, seed: 9 },
    );
  });

  it('restores the name behind an event that ends in the middle of its JSON', () => {
    const broken = 'data: {"model":"served-7b","choices":[{"text":"a\n\n';
    const stream = broken + delta('served-7b', 'b');
    const restored = restore(stream, { eventStream: true });
    expect(restored).toBe(stream.replaceAll('"model":"served-7b"', '"model":"chat"'));
  });

  it('holds back no more than a name can be long', () => {
    const restorer = new ModelRestorer({ served: 's', requested: 'r', eventStream: false });
    let passed = 0;
    passed += Buffer.concat(restorer.push(Buffer.from('{"model":"'))).length;
    for (let n = 0; n < 100; n++) {
      passed += Buffer.concat(restorer.push(Buffer.from('x'.repeat(100)))).length;
    }
    expect(passed).toBeGreaterThan(10 + 10_000 - 20);
  });
});
