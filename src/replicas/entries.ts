import type { InFlightLoad } from '../framework/keys.ts';
import { type Outcome, type Routed, tokensToCompute, type Usage } from '../framework/observer.ts';
import type { PromptBlocks } from '../framework/request.ts';
import type { FirstBand } from '../framework/routing.ts';
import type { Millis } from '../framework/runtime.ts';
import { readTime, type TextTable, writeTime } from './message.ts';
import { BLOCKS_MAX, continues, promptOf, readRest, sendsRest, writeRest } from './prompt-words.ts';
import { type ByteReader, type ByteWriter, WireError } from './wire.ts';

/** What has become of a request of another replica. Its time counts from the message's origin. */
export type Entry = RoutedEntry | ChangeEntry | PromptEntry | DoneEntry | WaitingEntry;

export interface RoutedEntry {
  readonly kind: 'routed';
  readonly number: number;
  readonly afterMs: Millis;
  readonly endpoint: string;
  readonly prefill: string | undefined;
  readonly model: string;
  readonly objective: string | undefined;
  readonly fairnessId: string;
  /** 0 where an earlier version has sent it. */
  readonly priority: number;
  readonly streaming: boolean;
  readonly firstTokenSeen: boolean;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokensMax: number | undefined;
  readonly bodyBytes: number;
  readonly load: InFlightLoad;
  readonly prompt: PromptBlocks;
}

export interface ChangeEntry {
  readonly kind: 'first-token' | 'served';
  readonly number: number;
  readonly afterMs: Millis;
  /** Who serves it, as `host:port`; empty for a first token. */
  readonly address: string;
}

/** The prompt is known to its end, or its answer is. */
export interface PromptEntry {
  readonly kind: 'body-read' | 'answered';
  readonly number: number;
  readonly promptTokens: number;
  /** So many blocks are those of the prompt that was sent when the request was routed. */
  readonly from: number;
  readonly words: Uint32Array;
  /** The words of what follows the last full block; empty where that is nothing. */
  readonly rest: Uint32Array;
}

export interface DoneEntry {
  readonly kind: 'done';
  readonly number: number;
  readonly afterMs: Millis;
  readonly outcome: Outcome;
  readonly usage: Usage | undefined;
}

/** What waits for flow control at the sender. A batch without it says that nothing does. */
export interface WaitingEntry extends FirstBand {
  readonly kind: 'waiting';
}

const CODE = {
  routed: 1,
  'first-token': 2,
  served: 3,
  'body-read': 4,
  answered: 5,
  done: 6,
  waiting: 7,
};
const OUTCOMES: readonly Outcome[] = ['completed', 'aborted', 'failed'];
const [STREAMING, TOKEN_SEEN] = [1, 2];
const TOKENS_MAX = 100_000_000;
const BLOCK_TOKENS_MAX = 65_536;
const COUNT_MAX = 10_000_000;

export function writeRouted(
  writer: ByteWriter,
  texts: TextTable,
  { routed, afterMs, blocks }: { routed: Routed; afterMs: Millis; blocks: number },
): void {
  const { request, endpoint, prefill, load } = routed;
  const { objective, outputTokensMax, prompt } = request;
  const start = writer.beginEntry(CODE.routed);
  writer.number(routed.number);
  writeTime(writer, afterMs);
  writer.number(texts.numberOf(endpoint.id));
  writer.number(prefill === undefined ? 0 : texts.numberOf(prefill.id) + 1);
  writer.number(texts.numberOf(request.model));
  writer.number(objective === undefined ? 0 : texts.numberOf(objective) + 1);
  writer.number(texts.numberOf(request.fairnessId));
  writer.byte((request.streaming ? STREAMING : 0) | (routed.firstTokenSeen ? TOKEN_SEEN : 0));
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
  const rest = sendsRest(prompt, sent);
  if (request.priority !== 0 || rest) writer.signed(request.priority);
  if (rest) writeRest(writer, prompt);
  writer.endEntry(start);
}

export function writeChange(
  writer: ByteWriter,
  texts: TextTable,
  { kind, number, afterMs, address }: ChangeEntry,
): void {
  const start = writer.beginEntry(CODE[kind]);
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
  const start = writer.beginEntry(CODE[kind]);
  writer.number(number);
  writer.number(promptTokens);
  writer.number(from);
  const sent = Math.min(prompt.count, from + BLOCKS_MAX);
  writer.hashes(prompt.words, from, sent);
  // Earlier versions do not read on.
  if (sendsRest(prompt, sent)) writeRest(writer, prompt);
  writer.endEntry(start);
}

export function writeDone(
  writer: ByteWriter,
  { number, afterMs, outcome, usage }: Omit<DoneEntry, 'kind'>,
): void {
  const start = writer.beginEntry(CODE.done);
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

export function writeWaiting(writer: ByteWriter, { priority, requests }: FirstBand): void {
  const start = writer.beginEntry(CODE.waiting);
  writer.signed(priority);
  writer.number(requests);
  writer.endEntry(start);
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
    case CODE.routed:
      return readRouted(reader, texts);
    case CODE['first-token']:
      return readChange(reader, 'first-token', texts);
    case CODE.served:
      return readChange(reader, 'served', texts);
    case CODE['body-read']:
      return readPrompt(reader, 'body-read');
    case CODE.answered:
      return readPrompt(reader, 'answered');
    case CODE.done:
      return readDone(reader);
    case CODE.waiting:
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
  const words = reader.hashes(BLOCKS_MAX);
  const priority = reader.left > 0 ? reader.signed() : 0;
  const prompt = promptOf(blockTokens, words, readRest(reader));
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
    streaming: (flags & STREAMING) !== 0,
    firstTokenSeen: (flags & TOKEN_SEEN) !== 0,
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
  return { kind, number, promptTokens, from, words, rest: readRest(reader) };
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
