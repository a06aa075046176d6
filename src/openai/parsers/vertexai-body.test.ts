import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  framed,
  framedRequest,
  methodOf,
  PREDICTION_SERVICE,
} from '../../../test/support/grpc/grpc-services.ts';
import { editBody } from '../body/body-edit.ts';
import type { BodyReader } from '../body/body-reader.ts';
import { createOpenBody } from './open-body.ts';

const SERVICE = '/google.cloud.aiplatform.v1beta1.PredictionService';

function opened(path: string, { model = '', controls = false } = {}): BodyReader {
  const open = createOpenBody({
    bodyBytesMax: 1_000_000,
    hashSeed: 7,
    parsers: () => ['vertexai-parser', 'openai-parser'],
    rewriteOf: (requested) => (model === '' || requested === '' ? undefined : { rule: 'r', model }),
    onIgnored: controls ? undefined : () => undefined,
  });
  return open({ id: 'r', path, headers: new Map() });
}

const wrapped = (json: unknown): Buffer =>
  framedRequest(PREDICTION_SERVICE, 'ChatCompletions', {
    endpoint: 'projects/p/endpoints/e',
    http_body: { content_type: 'application/json', data: Buffer.from(JSON.stringify(json)) },
  });

/** What the model server gets. */
function sentJson(reader: BodyReader, body: Buffer): unknown {
  const bytes = Buffer.concat(editBody(reader.edit, [body]));
  expect(bytes.readUInt32BE(1)).toBe(bytes.length - 5);
  const method = methodOf(PREDICTION_SERVICE, 'ChatCompletions');
  const { http_body: http } = method.requestDeserialize(bytes.subarray(5)) as {
    http_body: { content_type: string; data: Buffer };
  };
  expect(http.content_type).toBe('application/json');
  return JSON.parse(http.data.toString());
}

describe('a Vertex AI request', () => {
  it('[D37] is read as its JSON is where OpenAI’s API takes it, wherever it is cut', () => {
    const body = fc.record({
      model: fc.constantFrom('m', 'n'),
      stream: fc.boolean(),
      max_tokens: fc.nat(),
      messages: fc.array(fc.record({ role: fc.constant('user'), content: fc.string() }), {
        minLength: 1,
      }),
    });
    fc.assert(
      fc.property(body, fc.array(fc.nat(), { maxLength: 9 }), (json, cuts) => {
        const bytes = wrapped(json);
        const reader = opened(`${SERVICE}/ChatCompletions`);
        const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)];
        for (let index = 0; index < at.length; index++)
          reader.push(bytes.subarray(at[index], at[index + 1]));
        const plain = opened('/v1/chat/completions');
        plain.push(Buffer.from(JSON.stringify(json)));
        expect(reader.end()).toEqual({ ...plain.end(), bodyBytes: bytes.length });
        expect(reader.edit).toBeUndefined();
      }),
      { seed: 37 },
    );
  });

  it('[D37] has the shape of a response where the method is RawPredict or StreamRawPredict', () => {
    for (const method of ['RawPredict', 'StreamRawPredict']) {
      const reader = opened(`${SERVICE}/${method}`);
      reader.push(wrapped({ model: 'm', input: 'hello', max_output_tokens: 4 }));
      expect(reader.end()).toMatchObject({ model: 'm', outputTokensMax: 4 });
    }
  });

  it('[D37] to another method passes unread', () => {
    expect(opened(`${SERVICE}/Predict`).unread).toBe(true);
  });

  it('[D37] gets a rewritten model, whatever that does to the lengths around it', () => {
    const names = fc.integer({ min: 1, max: 400 }).map((length) => 'n'.repeat(length));
    fc.assert(
      fc.property(names, fc.integer({ min: 0, max: 20_000 }), (model, length) => {
        const json = { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(length) }] };
        const body = wrapped(json);
        const reader = opened(`${SERVICE}/ChatCompletions`, { model });
        reader.push(body);
        expect(reader.end().model).toBe(model);
        expect(sentJson(reader, body)).toEqual({ ...json, model });
      }),
      { seed: 38 },
    );
  });

  it('[D37] keeps no control field of its JSON, unless clients are trusted', () => {
    const json = { model: 'm', messages: [{}], kv_transfer_params: { remote_host: 'evil' } };
    const body = wrapped(json);
    const reader = opened(`${SERVICE}/ChatCompletions`);
    reader.push(body);
    reader.end();
    expect(sentJson(reader, body)).toEqual({ ...json, kv_transfer_params: null });
  });

  it.each([
    ['has no JSON', framed(Buffer.of(10, 1, 65)), 'has no http_body with data'],
    ['has two JSONs', Buffer.concat([framed(Buffer.of(18, 0, 18, 0))]), 'http_body more than once'],
    ['has bad JSON', wrapped('x'), 'must be a JSON object'],
  ])('[D37] that %s is refused', (_, bytes, message) => {
    const reader = opened(`${SERVICE}/ChatCompletions`);
    expect(() => {
      reader.push(bytes);
      reader.end();
    }).toThrow(message);
  });
});
