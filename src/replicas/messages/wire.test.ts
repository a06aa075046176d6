import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../test/makers.ts';
import { blocksOf, type SharedPicker, startPicker } from '../../../test/replicas/pickers.ts';
import { IDLE_LINK } from '../../../test/replicas/raw-messages.ts';
import type { PromptBlocks } from '../../framework/request.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import type { LinkEvents } from '../links/link.ts';
import type { RoutedEntry } from './entries.ts';
import {
  MESSAGE_KIND,
  readHead,
  TextTable,
  VersionError,
  WIRE_VERSION,
  writeHead,
} from './message.ts';
import { readEntry } from './read-entries.ts';
import { ByteReader, ByteWriter, WireError } from './wire.ts';
import { writePrompt, writeRouted } from './write-entries.ts';

/** Letters of one, two and three bytes, and half of a pair. */
const LETTERS = ['a', '/', '\u007f', 'é', '日', '\ud83d'];
const HEAD = { kind: MESSAGE_KIND.batch, id: 'other', boot: 7, sequence: 1, sentAt: 0 };

/** A picker whose link only receives. */
function listener(): { readonly picker: SharedPicker; receive(message: Uint8Array): void } {
  const clock = new SimulatedClock();
  const links: LinkEvents[] = [];
  const picker = startPicker('own', {
    clock,
    openLink: (_id, events) => {
      links.push(events);
      return IDLE_LINK;
    },
  });
  return { picker, receive: (message) => links[0]?.onMessage(message) };
}

function batch(version: number = WIRE_VERSION, write?: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter();
  writeHead(writer, HEAD);
  for (const value of [0, 0, 0]) writer.number(value);
  write?.(writer);
  const message = writer.view().slice();
  message[1] = version;
  return message;
}

describe('messages between replicas', () => {
  it.each([
    [-1, [0]],
    [0, [0]],
    [0.5, [1]],
    [127, [0x7f]],
    [128, [0x80, 1]],
    [2 ** 31 - 1, [0xff, 0xff, 0xff, 0xff, 7]],
    [2 ** 31, [0x80, 0x80, 0x80, 0x80, 8]],
    [2 ** 40 + 1, [0x81, 0x80, 0x80, 0x80, 0x80, 0x20]],
    [Number.MAX_SAFE_INTEGER, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]],
  ])('[G222] writes %d in seven bits a byte, the lowest first', (value, bytes) => {
    const writer = new ByteWriter();
    writer.number(value);
    expect([...writer.view()]).toEqual(bytes);
  });

  it('reads the numbers, texts and hashes that were written', () => {
    const number = fc.nat({ max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(
        number,
        fc.string({ maxLength: 60, unit: fc.constantFrom(...LETTERS) }),
        // Short ones are written and read in another way.
        fc.uint32Array({ maxLength: 60 }),
        (value, text, words) => {
          const even = words.subarray(0, 2 * Math.floor(words.length / 2));
          const writer = new ByteWriter();
          writer.number(value);
          writer.text(text);
          writer.hashes(even, 0, even.length / 2);
          const reader = new ByteReader(writer.view());
          expect(reader.number()).toBe(value);
          expect(reader.text(60)).toBe(new TextDecoder().decode(new TextEncoder().encode(text)));
          expect([...reader.hashes(1000)]).toEqual([...even]);
          expect(reader.left).toBe(0);
        },
      ),
      { seed: 22, numRuns: 300 },
    );
  });

  it('[O149] leaves out what a later version adds, and refuses messages of another version', () => {
    const { picker, receive } = listener();
    receive(batch());
    receive(
      batch(WIRE_VERSION, (writer) => {
        const start = writer.beginEntry(99);
        writer.text('later');
        writer.endEntry(start);
      }),
    );
    expect(picker.replica.status().received).toMatchObject({ malformed: 0, otherVersions: 0 });
    receive(batch(WIRE_VERSION + 1));
    expect(picker.replica.status().received).toMatchObject({ malformed: 0, otherVersions: 1 });
    expect(() => readHead(new ByteReader(batch(0)))).toThrow(VersionError);
  });

  // Replicas of other versions send as many, so the bound belongs to the format.
  it.each([
    [2048, 0],
    [2049, 1],
  ])('[V138] are read with up to 2048 entries: %i', (entries, malformed) => {
    const { picker, receive } = listener();
    receive(
      batch(WIRE_VERSION, (writer) => {
        for (let count = 0; count < entries; count++) writer.endEntry(writer.beginEntry(99));
      }),
    );
    expect(picker.replica.status().received).toMatchObject({ malformed });
  });

  it.each([0, 1, -1, 2 ** 31 - 1, -(2 ** 31) + 1])(
    '[O178] say the priority %i of a request; one that does not say it has 0',
    (priority) => {
      const routed = makeRouted(makeEndpoint('a'), { request: makeRequest({ priority }) });
      const writer = new ByteWriter();
      const texts = new TextTable();
      writeRouted(writer, texts, { routed, afterMs: 5, blocks: 0 });
      const names = Array.from({ length: 9 }, (_, at) => `text ${at}`);
      const entry = readEntry(new ByteReader(writer.view()), names);
      expect(entry).toMatchObject({ kind: 'routed', priority, afterMs: 5 });
    },
  );

  it.each([
    ['where it is decoded', undefined, 700],
    ['where its prompt is computed', makeEndpoint('p'), 100],
  ])('[Q198] say how much of a request is cached %s', (_where, prefill, cachedTokens) => {
    const request = makeRequest({ promptTokens: 1000 });
    const about = { request, prefill, cachedTokens: 700, prefillCachedTokens: 100 };
    const writer = new ByteWriter();
    const routed = makeRouted(makeEndpoint('a'), about);
    writeRouted(writer, new TextTable(), { routed, afterMs: 5, blocks: 0 });
    const names = Array.from({ length: 9 }, (_, at) => `text ${at}`);
    expect(readEntry(new ByteReader(writer.view()), names)).toMatchObject({ cachedTokens });
  });

  it.each([
    ['with a rest', 3, true],
    ['a rest alone', 0, true],
    ['whole blocks alone', 3, false],
  ])('[G176] a prompt arrives as it is: %s', (_what, count, hasRest) => {
    const words = Uint32Array.from({ length: 2 * (count + 1) }, (_, at) => at + 1);
    const whole = { count, blockTokens: 64, words: words.slice(0, 2 * count) };
    const prompt: PromptBlocks = hasRest ? { ...whole, words, hasRest } : whole;
    const routed = makeRouted(makeEndpoint('a'), { request: makeRequest({ prompt }) });
    const writer = new ByteWriter();
    const texts = new TextTable();
    writeRouted(writer, texts, { routed, afterMs: 5, blocks: Number.POSITIVE_INFINITY });
    const known = { count: 0, blockTokens: 64, words: new Uint32Array(0) };
    writePrompt(writer, { kind: 'body-read', number: 1, promptTokens: 9, prompt, known });
    writeRouted(writer, texts, { routed, afterMs: 5, blocks: Math.max(0, count - 1) });
    const reader = new ByteReader(writer.view());
    const names = Array.from({ length: 9 }, (_, at) => `text ${at}`);
    expect(readEntry(reader, names)).toMatchObject({ priority: 0, prompt });
    const rest = hasRest ? words.slice(2 * count) : new Uint32Array(0);
    expect(readEntry(reader, names)).toMatchObject({ words: whole.words, tail: { rest } });
    // A prompt that is sent in part has no rest.
    const part = readEntry(reader, names) as RoutedEntry;
    expect(part.prompt.hasRest).toBeUndefined();
  });

  it('[D472] all texts of a request arrive, within the blocks of one prompt', () => {
    const text = (count: number, at: number): PromptBlocks => {
      const words = Uint32Array.from({ length: 2 * count }, (_, word) => at + word);
      return { count, blockTokens: 64, words };
    };
    const rest: PromptBlocks = { ...text(1, 7), count: 0, hasRest: true };
    const prompt = { ...text(3, 100), others: [text(2, 200), rest, text(4, 300)] };
    const long = { ...text(3, 100), others: [text(2, 200), text(65_536, 1000)] };
    const writer = new ByteWriter();
    for (const [given, blocks] of [
      [prompt, 9],
      [prompt, 0],
      [long, 9],
    ] as const) {
      const routed = makeRouted(makeEndpoint('a'), { request: makeRequest({ prompt: given }) });
      writeRouted(writer, new TextTable(), { routed, afterMs: 5, blocks });
    }
    const reader = new ByteReader(writer.view());
    const names = Array.from({ length: 9 }, (_, at) => `text ${at}`);
    const prompts = [0, 1, 2].map(() => (readEntry(reader, names) as RoutedEntry).prompt);
    expect(prompts).toEqual([prompt, text(0, 0), { ...text(3, 100), others: [text(2, 200)] }]);
  });

  it('[O147] takes nothing from another process with its own id, and says so', () => {
    const { picker, receive } = listener();
    const writer = new ByteWriter();
    writeHead(writer, { ...HEAD, id: 'own', boot: 99 });
    receive(writer.view());
    expect(picker.replica.status()).toMatchObject({ peers: [], received: { sameId: 1 } });
    expect(picker.notices).toContainEqual({ kind: 'same-id', peer: 'own' });
  });

  it('[O150] survives any bytes, and applies no message in part', () => {
    const { picker, receive } = listener();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const writer = new ByteWriter();
        writeHead(writer, { ...HEAD, kind: 1 + ((bytes[0] ?? 0) % 6) });
        writer.bytes(bytes);
        receive(writer.view());
        receive(bytes);
      }),
      { seed: 22, numRuns: 2000 },
    );
    expect(picker.replica.status().received.malformed).toBeGreaterThan(1000);
    for (let n = 0; n < 8; n++) picker.route(blocksOf(5, 100 * n)).done('completed');
    expect(() => new ByteReader(new Uint8Array([0xff, 0xff])).number()).toThrow(WireError);
  });
});
