import { expect, it } from 'vitest';
import type { InferenceRequest } from '../../src/framework/request.ts';
import { BatchReader, BatchWriter } from '../../src/io-workers/batch.ts';
import { readRequest, writeRequest } from '../../src/io-workers/request-facts.ts';
import { CaptureLines } from '../../src/journal/capture/capture-lines.ts';
import { recordOf } from '../../src/journal/capture/record-of.ts';
import { requestOf } from '../../src/redecide/captured-inputs.ts';
import { toRequestMessage } from '../../src/remote/request-message.ts';
import type { RoutedEntry } from '../../src/replicas/messages/entries.ts';
import { readTexts, TextTable } from '../../src/replicas/messages/message.ts';
import { readEntry } from '../../src/replicas/messages/read-entries.ts';
import { ByteReader, ByteWriter } from '../../src/replicas/messages/wire.ts';
import { writeRouted } from '../../src/replicas/messages/write-entries.ts';
import { peerRequest } from '../../src/replicas/peers/peer-request.ts';
import { makeEndpoint, makeRouted } from '../makers.ts';

/**
 * A request leaves the process, or its thread, by four ways. A field that is added to
 * `InferenceRequest` must be added to `EVERY_FIELD`, or the types do not fit; then each way must
 * carry it, or say here that it does not, and why.
 */
const EVERY_FIELD: Required<InferenceRequest> = {
  id: 'r7',
  model: 'base',
  rewrite: { requestedModel: 'asked', rule: 'canary' },
  streaming: false,
  outputTokensMax: 20,
  promptTokens: 130,
  prompt: {
    count: 2,
    blockTokens: 16,
    words: Uint32Array.of(1, 2, 3, 4),
    others: [
      { count: 1, blockTokens: 16, words: Uint32Array.of(1, 2) },
      { count: 1, blockTokens: 16, words: Uint32Array.of(5, 6, 7, 8), hasRest: true },
      { count: 0, blockTokens: 16, words: Uint32Array.of(7, 8), hasRest: true },
    ],
  },
  mediaItems: 2,
  answerLength: 'long',
  priority: -3,
  fairnessId: 'tenant',
  objective: 'fast',
  ttftSloMs: 12.5,
  tpotSloMs: 3,
  headers: new Map([['x-zone', 'north']]),
  bodyBytes: 520,
};

function without(left: readonly (keyof InferenceRequest)[]): Partial<InferenceRequest> {
  return Object.fromEntries(
    Object.entries(EVERY_FIELD).filter(([name]) => !left.includes(name as keyof InferenceRequest)),
  );
}

it('[T13] carries every field of a request from an I/O worker to the thread that decides', () => {
  const writer = new BatchWriter();
  writeRequest(writer, EVERY_FIELD);
  const read = readRequest(new BatchReader(writer.take().batch));
  expect(read, 'src/io-workers/request-facts.ts writes and reads it').toEqual(EVERY_FIELD);
});

it('[T13] captures every field of a request, its blocks as numbers that are equal where they were', () => {
  const lines = new CaptureLines();
  let text = '';
  lines.listen((bytes) => {
    text += new TextDecoder().decode(bytes);
  });
  const redacted = { headers: Object.fromEntries(EVERY_FIELD.headers), fairness: 'tenant' };
  lines.bodyRead(5000, 7, EVERY_FIELD, redacted);
  lines.drain();
  const record = recordOf(text.trimEnd());
  const request = record.e === 'body' ? requestOf(record.r) : undefined;
  const by =
    'a field of capture-record.ts, written by request-bytes.ts (both in src/journal/capture), read by captured-inputs.ts of src/redecide';
  expect(request, by).toMatchObject(without(['prompt']));
  const others = EVERY_FIELD.prompt.others?.map(({ words: _words, ...counts }) => counts);
  expect(request?.prompt).toMatchObject({ count: 2, blockTokens: 16, others });
  const hashes = [request?.prompt, ...(request?.prompt.others ?? [])].map((text) =>
    Array.from({ length: (text?.words.length ?? 0) / 2 }, (_, block) => text?.words[2 * block]),
  );
  const [first, equal, third, rest] = hashes;
  expect([equal?.[0], rest?.[0]]).toEqual([first?.[0], third?.[1]]);
  expect(new Set(hashes.flat()).size).toBe(4);
});

it('[T13] gives a scheduler in another process every field that it may decide by', () => {
  const to = { endpoints: [], all: true };
  const message = toRequestMessage(EVERY_FIELD, to, 100, ['x-zone']);
  // The first text goes as hashes, and the contract has nothing for the others.
  const left = ['prompt', 'headers', 'rewrite', 'mediaItems', 'answerLength', 'bodyBytes'] as const;
  const by =
    'request-message.ts of src/remote writes it into a message of scheduler.proto and messages.ts';
  expect(message, by).toMatchObject(without(left));
  expect(message.headers).toEqual({ 'x-zone': 'north' });
  expect(message.blockHashes).toHaveLength(8 * EVERY_FIELD.prompt.count);
});

it('[T13] gives other replicas every field that load, speeds and shares depend on', () => {
  const texts = new TextTable();
  const [body, head] = [new ByteWriter(), new ByteWriter()];
  const routed = makeRouted(makeEndpoint('a'), { request: EVERY_FIELD });
  writeRouted(body, texts, { routed, afterMs: 0, blocks: 2 });
  texts.write(head);
  const names = readTexts(new ByteReader(head.view()));
  const read = readEntry(new ByteReader(body.view()), names) as RoutedEntry;
  const booked = peerRequest('peer', read, read.prompt);
  // It has a number instead of an id. The others serve only decisions, and this one has been made.
  const left = [
    'id',
    'rewrite',
    'mediaItems',
    'answerLength',
    'ttftSloMs',
    'tpotSloMs',
    'headers',
  ] as const;
  const by =
    'write-entries.ts and read-entries.ts of src/replicas/messages carry it as a field of entries.ts, and src/replicas/peers/peer-request.ts books it';
  expect(booked, by).toMatchObject(without(left));
});
