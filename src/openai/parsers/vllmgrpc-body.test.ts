import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  framed,
  framedRequest,
  methodOf,
  VLLM_ENGINE,
} from '../../../test/support/grpc/grpc-services.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { editBody } from '../body/body-edit.ts';
import type { BodyReader } from '../body/body-reader.ts';
import { createOpenBody } from './open-body.ts';

const GENERATE = '/vllm.grpc.engine.VllmEngine/Generate';
const EMBED = '/vllm.grpc.engine.VllmEngine/Embed';
const HEADERS = new Map([['content-type', 'application/grpc']]);
const ids = (count: number, first = 1): number[] =>
  Array.from({ length: count }, (_, at) => first + at * 997);

function opened(path: string, onIgnored?: (control: string) => void): BodyReader {
  const open = createOpenBody({
    bodyBytesMax: 1_000_000,
    hashSeed: 7,
    parsers: () => ['vllmgrpc-parser', 'vllmhttp-parser'],
    onIgnored,
  });
  return open({ id: 'r', path, headers: HEADERS });
}

function readBytes(bytes: Uint8Array, { path = GENERATE, cuts = [] as readonly number[] } = {}) {
  const reader = opened(path);
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)];
  for (let index = 0; index < at.length; index++)
    reader.push(bytes.subarray(at[index], at[index + 1]));
  return reader.end();
}

const read = (message: object, cuts?: readonly number[]): InferenceRequest =>
  readBytes(framedRequest(VLLM_ENGINE, 'Generate', message), { cuts: cuts ?? [] });

const blocks = ({ prompt }: InferenceRequest): number[] =>
  [...prompt.words].slice(0, 2 * prompt.count);

const generate = fc.record(
  {
    request_id: fc.string(),
    tokenized: fc.record({
      original_text: fc.string(),
      input_ids: fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { maxLength: 300 }),
    }),
    sampling_params: fc.record({
      temperature: fc.float({ noNaN: true }),
      max_tokens: fc.integer({ min: 0, max: 2 ** 31 }),
      stop: fc.array(fc.string(), { maxLength: 3 }),
      seed: fc.integer({ min: -5, max: 5 }),
    }),
    stream: fc.boolean(),
    mm_inputs: fc.record({
      pixel_values: fc.record({ data: fc.uint8Array({ maxLength: 500 }).map(Buffer.from) }),
      mm_placeholders: fc.array(fc.record({ offset: fc.nat(), length: fc.nat() }), {
        maxLength: 3,
      }),
    }),
  },
  { requiredKeys: ['tokenized'] },
);

describe('a vLLM gRPC request', () => {
  it('[D35] is read as protobufjs writes it, wherever its chunks are cut', () => {
    fc.assert(
      fc.property(generate, fc.array(fc.nat(), { maxLength: 20 }), (message, cuts) => {
        const request = read(message, cuts);
        const { input_ids } = message.tokenized;
        expect(request.promptTokens).toBe(Math.max(1, input_ids.length));
        expect(request.streaming).toBe(message.stream ?? false);
        expect(request.outputTokensMax).toBe(message.sampling_params?.max_tokens);
        expect(request.mediaItems ?? 0).toBe(message.mm_inputs?.mm_placeholders.length ?? 0);
        expect(blocks(request)).toEqual(blocks(read(message)));
        const json = Buffer.from(JSON.stringify({ token_ids: input_ids }));
        if (input_ids.length === 0) return;
        const http = readBytes(json, { path: '/inference/v1/generate' });
        expect(blocks(http)).toEqual(blocks(request));
      }),
      { seed: 35 },
    );
  });

  it('[D35] has its prompt in text, too', () => {
    const one = read({ text: 'x'.repeat(1024), sampling_params: { max_tokens: 3 } });
    expect([one.promptTokens, one.prompt.count, one.outputTokensMax]).toEqual([256, 4, 3]);
  });

  it('[D35] shares its blocks with the prompts that begin alike, and with no other media', () => {
    const [long, longer] = [read({ tokenized: { input_ids: ids(128) } }), ids(200)];
    const shared = read({ tokenized: { input_ids: longer } });
    expect(blocks(shared).slice(0, 4)).toEqual(blocks(long));
    const media = (hash: string) =>
      blocks(read({ tokenized: { input_ids: ids(128) }, mm_inputs: { mm_hashes: [hash] } }));
    expect(media('a')).toEqual(media('a'));
    expect(media('a')).not.toEqual(media('b'));
    expect(media('a').slice(0, 2)).not.toEqual(blocks(long).slice(0, 2));
  });

  it('[D35] to Embed has ids only', () => {
    const embed = (message: object) =>
      readBytes(framedRequest(VLLM_ENGINE, 'Embed', message), { path: EMBED });
    expect(embed({ tokenized: { input_ids: ids(70) } }).promptTokens).toBe(70);
    expect(() => embed({ request_id: 'r' })).toThrow('it needs tokenized');
  });

  it.each([
    ['is empty', Buffer.alloc(0), 'a gRPC message was expected'],
    ['has no input', framed(Buffer.alloc(0)), 'it needs tokenized or text'],
    ['is compressed', framed(Buffer.from('xyz'), 1), 'without grpc-encoding'],
    ['ends early', framed(Buffer.from('xyz')).subarray(0, 7), 'ends early, after 7 bytes'],
    ['ends within its frame’s head', Buffer.from([0, 0]), 'ends early, after 2 bytes'],
    [
      'has another behind it',
      Buffer.concat([framed(Buffer.of(24, 1)), framed(Buffer.of(24, 1))]),
      'second message',
    ],
    [
      'is larger than its frame may be',
      Buffer.from([0, 255, 255, 255, 255]),
      'over --max-body-bytes',
    ],
    ['has field 0', framed(Buffer.of(2, 0)), '0 is no field'],
    ['has an unknown type', framed(Buffer.of(14)), 'unknown type 6'],
    ['ends within a group', framed(Buffer.of(11, 8, 1)), 'ends within a field'],
    ['ends behind the key of a group', framed(Buffer.of(11)), 'ends within a field'],
    ['ends a group that is not open', framed(Buffer.of(12)), 'group 1 ends'],
    ['ends another group', framed(Buffer.of(11, 20)), 'group 2 ends'],
    ['has too many groups', framed(Buffer.alloc(9999, 11)), 'over 100 groups'],
    ['has a field beyond its end', framed(Buffer.of(18, 9, 1)), 'goes beyond its message'],
    ['ends within a number', framed(Buffer.of(18, 1, 128)), 'ends within a field'],
    ['ends behind a key', framed(Buffer.of(16)), 'ends within a field'],
    [
      'has too long a number',
      framed(Buffer.from([40, ...Array(10).fill(128), 1])),
      'more than 10 bytes',
    ],
  ])('[D35] that %s is refused', (_, bytes, message) => {
    expect(() => readBytes(bytes)).toThrow(message);
  });

  it('[D475] may have groups, which no reader knows, and numbers beyond their type', () => {
    const message = framedRequest(VLLM_ENGINE, 'Generate', {
      tokenized: { input_ids: [7, 8, 9] },
      sampling_params: { max_tokens: 5 },
    });
    // Group 2, which is no message of ids, with a number, a text, bytes and a group 9 in it.
    const group = [19, 8, 1, 18, 2, 24, 1, 13, 1, 2, 3, 4, 75, 9, 1, 2, 3, 4, 5, 6, 7, 8, 76, 20];
    const parts = [group, [...message.subarray(5)], group].flat();
    const grouped = readBytes(framed(Buffer.from(parts)), { cuts: parts.map((_, at) => at) });
    expect([grouped.promptTokens, grouped.outputTokensMax]).toEqual([3, 5]);
    expect(blocks(grouped)).toEqual(blocks(readBytes(message)));
    const inSampling = Buffer.from([18, 3, 18, 1, 7, 34, 4, 11, 12, 64, 6]);
    expect(readBytes(framed(inSampling)).outputTokensMax).toBe(6);
    // As a program writes -1.
    const minusOne = Buffer.from([18, 3, 18, 1, 7, 34, 11, 64, ...Array(9).fill(255), 1]);
    expect(readBytes(framed(minusOne)).outputTokensMax).toBe(2 ** 32 - 1);
  });

  it('[D35] of any bytes is read or refused, alike wherever it is cut', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((array) => framed(array)),
      fc.tuple(generate, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([message, at, byte]) => {
        const frame = framedRequest(VLLM_ENGINE, 'Generate', message);
        frame[at % frame.length] = byte;
        return frame;
      }),
    );
    const outcome = (given: Uint8Array, cuts: readonly number[]): string => {
      try {
        const { promptTokens, prompt, streaming } = readBytes(given, { cuts });
        return JSON.stringify([promptTokens, prompt.count, streaming]);
      } catch (error) {
        return (error as Error).message;
      }
    };
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(), { maxLength: 9 }), (given, cuts) => {
        expect(outcome(given, cuts)).toBe(outcome(given, []));
      }),
      { seed: 36, numRuns: 500 },
    );
  });

  it('[D36] names no server for its KV cache, unless clients are trusted', () => {
    const message = {
      request_id: 'r',
      kv_transfer_params: { remote_host: 'evil', remote_port: 1 },
      tokenized: { input_ids: [1, 2, 3] },
    };
    const bytes = framedRequest(VLLM_ENGINE, 'Generate', message);
    const ignored: string[] = [];
    const reader = opened(GENERATE, (control) => void ignored.push(control));
    reader.push(bytes);
    reader.end();
    const sent = Buffer.concat(editBody(reader.edit, [bytes]));
    const decoded = methodOf(VLLM_ENGINE, 'Generate').requestDeserialize(sent.subarray(5));
    expect(decoded).toMatchObject({ request_id: 'r', tokenized: { input_ids: [1, 2, 3] } });
    expect(decoded).not.toHaveProperty('kv_transfer_params');
    expect([ignored, sent.length]).toEqual([['kv_transfer_params'], bytes.length]);
    const trusted = opened(GENERATE);
    trusted.push(bytes);
    expect(trusted.edit).toBeUndefined();
  });

  it('[D36] hides them behind a key that is longer than it needs to be, too', () => {
    const reader = opened(GENERATE, () => undefined);
    const body = framed(Buffer.of(0xb2, 0x80, 0x00, 2, 10, 0, 26, 1, 65));
    reader.push(body);
    expect(reader.end().promptTokens).toBe(1);
    const sent = Buffer.concat(editBody(reader.edit, [body])).subarray(5);
    expect([...sent]).toEqual([0xfa, 0x80, 0x00, 2, 10, 0, 26, 1, 65]);
  });
});
