import { isDeepStrictEqual } from 'node:util';
import { RoutingError } from '../../../src/framework/error.ts';
import type { InferenceRequest } from '../../../src/framework/request.ts';
import { createOpenBody } from '../../../src/openai/parsers/open-body.ts';
import { expected, type FuzzTarget, promise, utf8 } from '../target.ts';

const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7 });
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const PATHS =
  '/v1/chat/completions /v1/completions /v1/embeddings /v1/responses /v1/messages /inference/v1/generate /generate'.split(
    ' ',
  );

function read(path: string, chunks: readonly Uint8Array[]): InferenceRequest | string {
  const headers = new Map([[':path', path]]);
  const reader = openBody({ id: 'r', path, headers });
  try {
    for (const chunk of chunks) reader.push(chunk);
    // An early pick reads what has come so far; it must not change what is read later.
    reader.peek();
    const request = reader.end();
    reader.answerBlocks();
    const { count, words } = request.prompt;
    return { ...request, prompt: { ...request.prompt, words: words.slice(0, 2 * count) } };
  } catch (error) {
    return expected(error, RoutingError);
  }
}

/** Undefined where the bytes are no JSON text. */
function parsed(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(decoder.decode(body)) };
  } catch {
    return undefined;
  }
}

function nameIn(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'model' in value ? value.model : undefined;
}

/**
 * The first byte selects the path, the second the places where the body is cut. However it is cut,
 * the same is read; what is accepted is JSON with the model that `JSON.parse` finds.
 */
export const jsonBody: FuzzTarget = {
  name: 'json-body',
  seeds: [
    '{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true,"max_tokens":5}',
    '{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:x"}}]}]}',
    '{"model":"m","prompt":"once upon\\u0020a \\ud83d\\ude00 time","max_tokens":16,"n":2}',
    '{"model":"m","prompt":[[1,2,3],[4,5]],"cache_salt":"s"}',
    '{"model":"m","input":["a","b"]}',
    '{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"é"}]}]}',
    '{"model":"m","system":"s","max_tokens":1,"messages":[{"role":"user","content":"x"}]}',
    ' \t\r\n{ "model" : "m" , "prompt" : "" , "x" : [ null , true , -1.5e3 ] }\n',
  ].map((text, at) => Buffer.concat([Buffer.from([at, 7 * at]), utf8(text)])),
  words: ['"model":', '{', '}', '[', ']', ',', '\\u0000', '\\ud800', '"', '"content":', '\uFEFF'],
  run: (input) => {
    const path = PATHS[(input[0] ?? 0) % PATHS.length] ?? '';
    const step = 1 + ((input[1] ?? 0) % 61);
    const body = input.subarray(2);
    const whole = read(path, [body]);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < body.length; at += step) pieces.push(body.slice(at, at + step));
    const cut = read(path, pieces);
    // Where a body has several faults, another one may be met first.
    const refused = typeof whole === 'string' && typeof cut === 'string';
    promise(
      refused || isDeepStrictEqual(whole, cut),
      () => `cut every ${step} bytes it reads otherwise`,
    );
    if (typeof whole === 'string') return `${path} ${whole}`;
    const json = parsed(body);
    // Bytes that are no UTF-8 are left to the engine; texts in them are hashed as they are.
    if (json === undefined) return `${path} accepted without JSON.parse`;
    const model = nameIn(json.value);
    promise(
      model === undefined || typeof model !== 'string' || whole.model === model,
      () => `the model is ${String(model)}, read as ${whole.model}`,
    );
    return `${path} ${whole.prompt.count > 0} ${whole.streaming} ${whole.outputTokensMax === undefined}`;
  },
};
