import { OUTCOMES, type Routed, tokensToCompute } from '../../framework/observer.ts';
import type { PromptBlocks } from '../../framework/request.ts';
import type { FirstBand } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import {
  type ChangeEntry,
  type DoneEntry,
  ENTRY_CODE,
  type PromptEntry,
  ROUTED_FLAG,
} from './entries.ts';
import { type TextTable, writeTime } from './message.ts';
import { BLOCKS_MAX, continues, sendsTail, writeTail } from './prompt-words.ts';
import type { ByteWriter } from './wire.ts';

/** Writes that a request has been placed, with at most `blocks` blocks of its prompt. */
export function writeRouted(
  writer: ByteWriter,
  texts: TextTable,
  { routed, afterMs, blocks }: { routed: Routed; afterMs: Millis; blocks: number },
): void {
  const { request, endpoint, prefill, load } = routed;
  const { objective, outputTokensMax, prompt } = request;
  const start = writer.beginEntry(ENTRY_CODE.routed);
  writer.number(routed.number);
  writeTime(writer, afterMs);
  writer.number(texts.numberOf(endpoint.id));
  writer.number(prefill === undefined ? 0 : texts.numberOf(prefill.id) + 1);
  writer.number(texts.numberOf(request.model));
  writer.number(objective === undefined ? 0 : texts.numberOf(objective) + 1);
  writer.number(texts.numberOf(request.fairnessId));
  writer.byte(
    (request.streaming ? ROUTED_FLAG.streaming : 0) |
      (routed.firstTokenVisible ? ROUTED_FLAG.firstTokenVisible : 0),
  );
  writer.number(request.promptTokens);
  writer.number(request.promptTokens - tokensToCompute(routed));
  writer.number(outputTokensMax === undefined ? 0 : outputTokensMax + 1);
  writer.number(request.bodyBytes);
  writer.number(load.requests);
  writer.number(load.pendingPrefillTokens);
  writer.number(load.contextTokens);
  writer.number(prompt.blockTokens);
  const sent = Math.min(blocks, prompt.count, BLOCKS_MAX);
  writer.hashes(prompt.words, 0, sent);
  // Earlier versions do not read on.
  const tail = blocks > 0 && sendsTail(prompt, sent);
  if (request.priority !== 0 || tail) writer.signed(request.priority);
  if (tail) writeTail(writer, prompt);
  writer.endEntry(start);
}

/** Writes what happened to an open request: first token, another endpoint or the like. */
export function writeChange(
  writer: ByteWriter,
  texts: TextTable,
  { kind, number, afterMs, address }: ChangeEntry,
): void {
  const start = writer.beginEntry(ENTRY_CODE[kind]);
  writer.number(number);
  writeTime(writer, afterMs);
  if (kind === 'served') writer.number(texts.numberOf(address));
  writer.endEntry(start);
}

/** `known` is the prompt that was sent when the request was routed. */
export function writePrompt(
  writer: ByteWriter,
  {
    kind,
    number,
    promptTokens,
    prompt,
    known,
  }: Pick<PromptEntry, 'kind' | 'number' | 'promptTokens'> & {
    readonly prompt: PromptBlocks;
    readonly known: PromptBlocks;
  },
): void {
  const from = continues(prompt, known) ? known.count : 0;
  const start = writer.beginEntry(ENTRY_CODE[kind]);
  writer.number(number);
  writer.number(promptTokens);
  writer.number(from);
  const sent = Math.min(prompt.count, from + BLOCKS_MAX);
  writer.hashes(prompt.words, from, sent);
  // Earlier versions do not read on.
  if (sendsTail(prompt, sent)) writeTail(writer, prompt);
  writer.endEntry(start);
}

/** Writes that a request has ended. The number of cached tokens is sent plus 1: 0 is unknown. */
export function writeDone(
  writer: ByteWriter,
  { number, afterMs, outcome, usage }: Omit<DoneEntry, 'kind'>,
): void {
  const start = writer.beginEntry(ENTRY_CODE.done);
  writer.number(number);
  writeTime(writer, afterMs);
  writer.byte(OUTCOMES.indexOf(outcome));
  writer.byte(usage === undefined ? 0 : 1);
  if (usage !== undefined) {
    writer.number(usage.promptTokens);
    writer.number(usage.completionTokens);
    writer.number(usage.cachedTokens === undefined ? 0 : usage.cachedTokens + 1);
  }
  writer.endEntry(start);
}

/** Writes how many requests wait with the highest priority. */
export function writeWaiting(writer: ByteWriter, { priority, requests }: FirstBand): void {
  const start = writer.beginEntry(ENTRY_CODE.waiting);
  writer.signed(priority);
  writer.number(requests);
  writer.endEntry(start);
}
