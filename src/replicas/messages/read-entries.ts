import { OUTCOMES } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import {
  type ChangeEntry,
  type DoneEntry,
  ENTRY_CODE,
  type Entry,
  type PromptEntry,
  ROUTED_FLAG,
  type RoutedEntry,
} from './entries.ts';
import { ENTRIES_MAX, readTexts, readTime } from './message.ts';
import { BLOCKS_MAX, readPromptBehind, readTail } from './prompt-words.ts';
import { type ByteReader, WireError } from './wire.ts';

/** No request has more: a message with a larger count is refused. */
const TOKENS_MAX = 100_000_000;
const BLOCK_TOKENS_MAX = 65_536;
const COUNT_MAX = 10_000_000;

/**
 * What a message says has happened, and the time here from which its times count. All entries are
 * read before one is applied: a message is applied whole or not at all. Throws WireError.
 */
export function readEntries(
  reader: ByteReader,
  now: Millis,
): { readonly origin: Millis; readonly entries: readonly Entry[] } {
  const origin = now - readTime(reader);
  const texts = readTexts(reader);
  const entries: Entry[] = [];
  for (let count = 0; reader.left > 0; count++) {
    if (count >= ENTRIES_MAX) throw new WireError(`a message has more than ${ENTRIES_MAX} entries`);
    const entry = readEntry(reader, texts);
    if (entry !== undefined) entries.push(entry);
  }
  return { origin, entries };
}

/** Undefined for a kind that a later version has. Throws WireError. */
export function readEntry(reader: ByteReader, texts: readonly string[]): Entry | undefined {
  const code = reader.beginEntry();
  const entry = readCode(code, reader, texts);
  reader.endEntry();
  return entry;
}

function readCode(code: number, reader: ByteReader, texts: readonly string[]): Entry | undefined {
  switch (code) {
    case ENTRY_CODE.routed:
      return readRouted(reader, texts);
    case ENTRY_CODE['first-token']:
      return readChange(reader, 'first-token', texts);
    case ENTRY_CODE.served:
      return readChange(reader, 'served', texts);
    case ENTRY_CODE['body-read']:
      return readPrompt(reader, 'body-read');
    case ENTRY_CODE.answered:
      return readPrompt(reader, 'answered');
    case ENTRY_CODE.done:
      return readDone(reader);
    case ENTRY_CODE.waiting:
      return { kind: 'waiting', priority: reader.signed(), requests: reader.number(COUNT_MAX) };
    default:
      return undefined;
  }
}

function readRouted(reader: ByteReader, texts: readonly string[]): RoutedEntry {
  const number = reader.number();
  const afterMs = readTime(reader);
  const endpoint = textAt(texts, reader.number());
  const prefill = textAfter(texts, reader.number());
  const model = textAt(texts, reader.number());
  const objective = textAfter(texts, reader.number());
  const fairnessId = textAt(texts, reader.number());
  const flags = reader.byte();
  const promptTokens = reader.number(TOKENS_MAX);
  const cachedTokens = Math.min(promptTokens, reader.number());
  const outputTokensMax = countAfter(reader.number());
  const bodyBytes = reader.number();
  const load = {
    requests: reader.number(COUNT_MAX),
    pendingPrefillTokens: reader.number(),
    contextTokens: reader.number(),
  };
  const blockTokens = Math.max(1, reader.number(BLOCK_TOKENS_MAX));
  const blocks = reader.skipHashes(BLOCKS_MAX);
  const priority = reader.left > 0 ? reader.signed() : 0;
  const prompt = readPromptBehind(reader, blockTokens, blocks);
  return {
    kind: 'routed',
    number,
    afterMs,
    endpoint,
    prefill,
    model,
    objective,
    fairnessId,
    priority,
    streaming: (flags & ROUTED_FLAG.streaming) !== 0,
    firstTokenVisible: (flags & ROUTED_FLAG.firstTokenVisible) !== 0,
    promptTokens,
    cachedTokens,
    outputTokensMax,
    bodyBytes,
    load,
    prompt,
  };
}

function readChange(
  reader: ByteReader,
  kind: ChangeEntry['kind'],
  texts: readonly string[],
): ChangeEntry {
  const number = reader.number();
  const afterMs = readTime(reader);
  const address = kind === 'served' ? textAt(texts, reader.number()) : '';
  return { kind, number, afterMs, address };
}

function readPrompt(reader: ByteReader, kind: PromptEntry['kind']): PromptEntry {
  const number = reader.number();
  const promptTokens = reader.number(TOKENS_MAX);
  const from = reader.number(BLOCKS_MAX);
  const words = reader.hashes(BLOCKS_MAX);
  return { kind, number, promptTokens, from, words, tail: readTail(reader) };
}

function readDone(reader: ByteReader): DoneEntry {
  const number = reader.number();
  const afterMs = readTime(reader);
  const outcome = OUTCOMES[reader.byte()];
  if (outcome === undefined) throw new WireError('an outcome is none of those that are known');
  const hasUsage = reader.byte() !== 0;
  const usage = hasUsage
    ? {
        promptTokens: reader.number(),
        completionTokens: reader.number(),
        cachedTokens: countAfter(reader.number()),
      }
    : undefined;
  return { kind: 'done', number, afterMs, outcome, usage };
}

/** Zero stands for what is not there, and other counts are one more. */
function countAfter(value: number): number | undefined {
  return value === 0 ? undefined : value - 1;
}

function textAfter(texts: readonly string[], value: number): string | undefined {
  return value === 0 ? undefined : textAt(texts, value - 1);
}

function textAt(texts: readonly string[], number: number): string {
  const text = texts[number];
  if (text === undefined) throw new WireError('a message names a text that it does not have');
  return text;
}
