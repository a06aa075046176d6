import type { Candidates } from '../framework/replacement.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { RequestMessage } from './messages.ts';

/** 128 KiB of hashes: a prompt of a million tokens in blocks of 64. */
const BLOCK_HASHES_MAX = 16_384;

/**
 * The message for a request, with at most `blockHashesMax` hashes, of its first text, and only the
 * named headers.
 */
export function toRequestMessage(
  request: InferenceRequest,
  { endpoints, all }: Candidates,
  blockHashesMax: number,
  headers: readonly string[],
): RequestMessage {
  const { id, model, promptTokens, streaming, priority, fairnessId, prompt } = request;
  const hashes = Math.min(prompt.count, blockHashesMax, BLOCK_HASHES_MAX);
  const { buffer, byteOffset } = prompt.words;
  return {
    id,
    model,
    promptTokens,
    outputTokensMax: request.outputTokensMax ?? 0,
    streaming,
    priority,
    fairnessId,
    objective: request.objective ?? '',
    ttftSloMs: request.ttftSloMs ?? 0,
    tpotSloMs: request.tpotSloMs ?? 0,
    blockTokens: prompt.blockTokens,
    // Two words, low first, are eight little-endian bytes on every platform of Node.
    blockHashes: new Uint8Array(buffer, byteOffset, 8 * hashes),
    headers: pickHeaders(request, headers),
    candidates: all ? [] : endpoints.map(({ slot }) => slot),
  };
}

function pickHeaders(
  request: InferenceRequest,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const entries = names.flatMap((name) => {
    const value = request.headers.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}
