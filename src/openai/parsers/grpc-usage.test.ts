import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { framed, framedAnswer, VLLM_ENGINE } from '../../../test/support/grpc/grpc-services.ts';
import type { Usage } from '../../framework/observer.ts';
import { GrpcUsage } from './grpc-usage.ts';

const answer = (message: object): Buffer => framedAnswer(VLLM_ENGINE, 'Generate', message);

function usageOf(bytes: Buffer, method: 'generate' | 'embed' = 'generate', cuts: number[] = []) {
  const usage = new GrpcUsage(method);
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)];
  for (let index = 0; index < at.length; index++)
    usage.push(bytes.subarray(at[index], at[index + 1]));
  return usage.take();
}

describe('the usage of a gRPC answer', () => {
  it('[D38] is that of its last messages, wherever they are cut', () => {
    const counts = fc.record({
      prompt_tokens: fc.integer({ min: 1, max: 2 ** 31 }),
      completion_tokens: fc.integer({ min: 1, max: 2 ** 31 }),
      cached_tokens: fc.integer({ min: 1, max: 2 ** 31 }),
    });
    const ids = fc.array(fc.nat(), { maxLength: 50 });
    fc.assert(
      fc.property(counts, fc.array(ids), fc.array(fc.nat()), (last, streamed, cuts) => {
        const chunks = streamed.map((token_ids) => answer({ chunk: { token_ids } }));
        const complete = answer({ complete: { output_ids: [1], finish_reason: 'stop', ...last } });
        const expected: Usage = {
          promptTokens: last.prompt_tokens,
          completionTokens: last.completion_tokens,
          cachedTokens: last.cached_tokens,
          leavesOutZero: true,
        };
        expect(usageOf(Buffer.concat([...chunks, complete]), 'generate', cuts)).toEqual(expected);
      }),
      { seed: 38 },
    );
  });

  it('[D38] is found in chunks alone, and is that of the prompt for an embedding', () => {
    const chunks = [1, 2].map((completion_tokens) =>
      answer({ chunk: { token_ids: [1], prompt_tokens: 5, completion_tokens } }),
    );
    expect(usageOf(Buffer.concat(chunks))).toMatchObject({ promptTokens: 5, completionTokens: 2 });
    const embedding = { embedding: [0.5, 1], prompt_tokens: 9, embedding_dim: 2 };
    const embed = framedAnswer(VLLM_ENGINE, 'Embed', embedding);
    expect(usageOf(embed, 'embed')).toMatchObject({ promptTokens: 9, completionTokens: 0 });
  });

  it('[D38] is none in an answer that counts nothing, is compressed or is no gRPC', () => {
    expect(usageOf(answer({ chunk: { token_ids: [1] } }))).toBeUndefined();
    expect(usageOf(framed(Buffer.from('zzz'), 1))).toBeUndefined();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(() => usageOf(Buffer.from(bytes))).not.toThrow();
      }),
      { seed: 39 },
    );
  });
});
