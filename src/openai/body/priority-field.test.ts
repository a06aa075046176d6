import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createOpenBody } from '../parsers/open-body.ts';
import { byteGrowth, editBody } from './body-edit.ts';

const openBody = createOpenBody({
  bodyBytesMax: 1_000_000,
  hashSeed: 7,
  priorityOf: (objective) => Number(objective ?? 0),
  rewriteOf: (model) => (model === 'old' ? { rule: 'r', model: 'new' } : undefined),
  propagatesPriority: () => true,
});

interface Sent {
  readonly priority?: number;
  readonly engine?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly cuts?: readonly number[];
}

/** The body as the model server gets it. */
function received(
  body: string,
  { priority = 7, engine = {}, path = '/v1/completions', cuts = [] }: Sent = {},
): string {
  const headers = new Map([['x-llm-d-inference-objective', String(priority)]]);
  const reader = openBody({ id: 'r', path, headers });
  const bytes = new TextEncoder().encode(body);
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b)];
  const chunks = at.map((from, index) => bytes.subarray(from, at[index + 1] ?? bytes.length));
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  // The pieces are made before the pick, as the headers have to say their length.
  const pieces = editBody(reader.edit, chunks);
  reader.routedTo?.({ labels: new Map(Object.entries(engine)) } as never);
  const text = Buffer.concat(pieces).toString();
  expect(Buffer.byteLength(text)).toBe(bytes.length + byteGrowth(reader.edit ?? []));
  return text;
}

const VLLM = { 'llm-d.ai/engine-type': 'vLLM' };

describe('[D152] the priority in a body', () => {
  test.each([
    [7, {}, 7],
    [7, { 'llm-d.ai/engine-type': 'sglang' }, 7],
    [7, VLLM, -7],
    [-10, VLLM, 10],
    [-10, {}, -10],
    [0, VLLM, 0],
    [7, { 'inference.networking.k8s.io/engine-type': 'vllm' }, -7],
    [7, { ...VLLM, 'inference.networking.k8s.io/engine-type': 'sglang' }, -7],
  ])('is %i at an endpoint with %j as %i', (priority, engine, shown) => {
    const body = '{"model":"m","prompt":"x"}';
    expect(JSON.parse(received(body, { priority, engine }))).toEqual({
      model: 'm',
      prompt: 'x',
      priority: shown,
    });
  });

  test('takes the place of the client’s, at each of its places and nowhere deeper', () => {
    const body = '{"priority" : "high","model":"m","prompt":"x","a":{"priority":1},"priority":[1]}';
    expect(received(body)).toBe(
      '{"priority": 7,"model":"m","prompt":"x","a":{"priority":1},"priority": 7}',
    );
  });

  test('stands beside a model that is rewritten', () => {
    const text = received('{"prompt":"x","model":"old"}');
    expect(JSON.parse(text)).toEqual({ model: 'new', prompt: 'x', priority: 7 });
  });

  test('is not written into bodies of APIs without a model', () => {
    const body = '{"input_ids":[1,2]}';
    expect(received(body, { path: '/generate' })).toBe(body);
  });

  test('is the same whatever the chunks (fast-check, seed 152)', () => {
    const body = '{"priority":3,"model":"old","prompt":"xyz","priority":null}';
    const whole = received(body, { priority: 12, engine: VLLM });
    expect(JSON.parse(whole)).toMatchObject({ model: 'new', priority: -12 });
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 100 })), (cuts) => {
        expect(received(body, { priority: 12, engine: VLLM, cuts })).toBe(whole);
      }),
      { seed: 152 },
    );
  });
});
