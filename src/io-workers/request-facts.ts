import type {
  InferenceRequest,
  ModelRewrite,
  PromptBlocks,
  RequestLabels,
} from '../framework/request.ts';
import type { BatchReader, BatchWriter } from './batch.ts';

const NO_OTHERS: readonly PromptBlocks[] = [];

/** Writes all that a decision may read of a request; `readRequest` makes an equal one of it. */
export function writeRequest(writer: BatchWriter, request: InferenceRequest): void {
  const { id, model, rewrite, streaming, outputTokensMax, promptTokens, mediaItems } = request;
  const { answerLength } = request;
  const { priority, fairnessId, objective, ttftSloMs, tpotSloMs, bodyBytes } = request;
  writer.put(id, model, rewrite, streaming, outputTokensMax, promptTokens, mediaItems);
  writer.put(answerLength);
  writer.put(priority, fairnessId, objective, ttftSloMs, tpotSloMs, bodyBytes);
  writeBlocks(writer, request.prompt);
  writeHeaders(writer, request.headers);
}

/** The request that `writeRequest` wrote. */
export function readRequest(reader: BatchReader): InferenceRequest {
  const id = reader.next<string>();
  const model = reader.next<string>();
  const rewrite = reader.next<ModelRewrite | undefined>();
  const streaming = reader.next<boolean>();
  const outputTokensMax = reader.next<number | undefined>();
  const promptTokens = reader.next<number>();
  const mediaItems = reader.next<number | undefined>();
  const answerLength = reader.next<InferenceRequest['answerLength']>();
  const request = {
    id,
    model,
    rewrite,
    streaming,
    outputTokensMax,
    promptTokens,
    priority: reader.next<number>(),
    fairnessId: reader.next<string>(),
    objective: reader.next<string | undefined>(),
    ttftSloMs: reader.next<number | undefined>(),
    tpotSloMs: reader.next<number | undefined>(),
    bodyBytes: reader.next<number>(),
    prompt: readBlocks(reader),
    headers: readHeaders(reader),
  };
  if (mediaItems === undefined && answerLength === undefined) return request;
  return {
    ...request,
    ...(mediaItems !== undefined && { mediaItems }),
    ...(answerLength !== undefined && { answerLength }),
  };
}

/** Writes what metrics say of a refused request; `readLabels` reads it. */
export function writeLabels(writer: BatchWriter, request: RequestLabels | undefined): void {
  writer.put(request?.model, request?.rewrite, request?.fairnessId, request?.priority);
}

/** What `writeLabels` wrote; undefined where there was no request. */
export function readLabels(reader: BatchReader): RequestLabels | undefined {
  const model = reader.next<string | undefined>();
  const rewrite = reader.next<ModelRewrite | undefined>();
  const fairnessId = reader.next<string>();
  const priority = reader.next<number>();
  return model === undefined ? undefined : { model, rewrite, fairnessId, priority };
}

/** Writes the hashes of a prompt, with the rests behind the last full blocks of its texts. */
export function writeBlocks(writer: BatchWriter, blocks: PromptBlocks): void {
  const { others = NO_OTHERS } = blocks;
  writer.put(others.length);
  writeText(writer, blocks);
  for (const text of others) writeText(writer, text);
}

function writeText(writer: BatchWriter, text: PromptBlocks): void {
  const { count, blockTokens, words, hasRest = false } = text;
  writer.put(count, blockTokens, hasRest);
  writer.putWords(words, 2 * (hasRest ? count + 1 : count));
}

/** The hashes that `writeBlocks` wrote, in memory of their own. */
export function readBlocks(reader: BatchReader): PromptBlocks {
  const others = reader.next<number>();
  const first = readText(reader);
  if (others === 0) return first;
  return { ...first, others: Array.from({ length: others }, () => readText(reader)) };
}

function readText(reader: BatchReader): PromptBlocks {
  const count = reader.next<number>();
  const blockTokens = reader.next<number>();
  if (!reader.next<boolean>()) return { count, blockTokens, words: reader.nextWords(2 * count) };
  return { count, blockTokens, words: reader.nextWords(2 * (count + 1)), hasRest: true };
}

/** One text for all: a text for each name and value would take several times as long. */
export function writeHeaders(writer: BatchWriter, headers: ReadonlyMap<string, string>): void {
  let text = '';
  for (const [name, value] of headers) {
    text += name + value;
    writer.word(name.length);
    writer.word(value.length);
  }
  writer.put(headers.size, text);
}

/** The headers that `writeHeaders` wrote. */
export function readHeaders(reader: BatchReader): ReadonlyMap<string, string> {
  const size = reader.next<number>();
  const text = reader.next<string>();
  const headers = new Map<string, string>();
  let at = 0;
  for (let index = 0; index < size; index++) {
    const valueAt = at + reader.word();
    const end = valueAt + reader.word();
    headers.set(text.slice(at, valueAt), text.slice(valueAt, end));
    at = end;
  }
  return headers;
}
