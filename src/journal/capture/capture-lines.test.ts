import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRequest } from '../../../test/makers.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { HeldSum, RouteOptions } from '../../framework/routing.ts';
import { chainBlockIds } from '../../openai/prompts/chain-block-ids.ts';
import type { Expectation } from '../../picker/events/journal.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { promptOfRuns } from './block-numbers.ts';
import { CaptureLines } from './capture-lines.ts';
import type { CapturedDecision, CaptureRecord, DecidedRecord } from './capture-record.ts';
import { recordOf } from './record-of.ts';
import type { Redacted } from './request-bytes.ts';

/** What is written, as lines of text. */
function linesOf(write: (lines: CaptureLines) => void): readonly string[] {
  const lines = new CaptureLines();
  const text: string[] = [];
  lines.listen((bytes) => void text.push(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  write(lines);
  lines.drain();
  return text.join('').trimEnd().split('\n');
}

const recordsOf = (write: (lines: CaptureLines) => void): readonly CaptureRecord[] =>
  linesOf(write).map(recordOf);

const PICKED: CapturedDecision = { endpoint: 'a:1', score: 0.5 };
const SEEN: RouteOptions = { firstTokenVisible: true };

function decided(
  request: Partial<InferenceRequest>,
  {
    options = SEEN,
    decision = PICKED,
    redacted = { headers: undefined, fairness: 'hash' },
    held,
    crowdedOut = false,
    adoptionsAgo = 0,
    expected,
  }: {
    readonly options?: RouteOptions;
    readonly held?: readonly HeldSum[];
    readonly crowdedOut?: boolean;
    readonly adoptionsAgo?: number;
    readonly expected?: Expectation;
    readonly decision?: CapturedDecision;
    readonly redacted?: Redacted;
  } = {},
): (lines: CaptureLines) => void {
  const more = {
    redacted,
    options,
    heldBefore: held,
    crowdedOut,
    adoptionsAgo,
    changesAgo: 2 * adoptionsAgo,
    expected,
    decision,
  };
  return (lines) => lines.decided(5000, 7, { request: makeRequest(request), ...more });
}

const readAgain = (...given: Parameters<typeof decided>): DecidedRecord =>
  recordsOf(decided(...given))[0] as DecidedRecord;

/** Each with something that JSON or UTF-8 must be careful with. */
const NAMES = [
  '',
  'plain',
  'quote " inside',
  'back\\slash',
  'line\nfeed and \u0000',
  'delete \u007f',
  'Küche 模型 🙂',
  'half of a pair \ud83d',
  'x'.repeat(300_000),
];

describe('lines of a capture', () => {
  it('leave out what is its default, and are read with it', () => {
    const prompt = chainBlockIds([1, 2, 3], { seedText: 'm', blockTokens: 64 });
    const request = {
      id: 'r1',
      model: 'm',
      streaming: true,
      fairnessId: 'default-flow',
      promptTokens: 200,
      bodyBytes: 800,
      prompt,
    };
    expect(linesOf(decided(request))).toEqual([
      '{"e":"q","t":5000,"n":7,"r":{"id":"r1","model":"m","promptTokens":200,"bodyBytes":800,"blocks":[[0,3]]},"d":{"endpoint":"a:1","score":0.5}}',
    ]);
    expect(readAgain(request)).toEqual({
      e: 'q',
      t: 5000,
      n: 7,
      firstTokenSeen: true,
      endSeen: true,
      r: {
        id: 'r1',
        model: 'm',
        streaming: true,
        promptTokens: 200,
        bodyBytes: 800,
        priority: 0,
        fairness: 'default-flow',
        blockTokens: 64,
        blocks: [[0, 3]],
      },
      d: PICKED,
    });
  });

  it('hold what is not its default', () => {
    const prompt = chainBlockIds([1, 2], { seedText: 'm', blockTokens: 16 });
    const rewrite = { requestedModel: 'other', rule: undefined };
    const fields = {
      streaming: false,
      outputTokensMax: 20,
      mediaItems: 2,
      priority: -3,
      objective: 'fast',
      ttftSloMs: 12.5,
      tpotSloMs: 3,
    };
    const redacted = { headers: { 'x-zone': 'north "1"' }, fairness: 'hash' };
    const options = { subset: ['a:1', 'b'], firstTokenVisible: false, endVisible: false };
    const decision = { ...PICKED, prefill: 'b:1', by: 'canary' };
    const record = readAgain(
      { ...fields, rewrite, prompt, fairnessId: 'tenant' },
      { redacted, options, decision, adoptionsAgo: 2 },
    );
    const since = { adoptionsAgo: 2, changesAgo: 4 };
    expect(record).toMatchObject({ ...since, subset: options.subset, d: decision });
    const expected = {
      cachedTokens: 128,
      prefillCachedTokens: 0,
      estimatedOutputTokens: undefined,
    };
    expect(readAgain({}, { expected })).toMatchObject({ expected: [128, 0, null] });
    expect(record).toMatchObject({ firstTokenSeen: false, endSeen: false });
    expect(record.r).toMatchObject({ ...fields, headers: redacted.headers, fairness: 'hash' });
    expect(record.r).toMatchObject({ rewrite: { requestedModel: 'other' }, blockTokens: 16 });
    for (const refusal of [{ error: 'saturated' }, { error: 'saturated', by: 'canary' }] as const) {
      expect(readAgain({}, { decision: refusal }).d).toStrictEqual(refusal);
    }
  });

  it('[G160] hold what follows the last full block, by a number as blocks have', () => {
    const withRest = (id: number) => ({
      ...chainBlockIds([1, 2, id], { seedText: 'm', blockTokens: 64 }),
      count: 2,
      hasRest: true as const,
    });
    const { r } = readAgain({ prompt: withRest(3) });
    expect(r).toMatchObject({ blocks: [[0, 2]], rest: 2 });
    const prompt = promptOfRuns(r.blocks, r.blockTokens, r.rest);
    expect([prompt.count, prompt.hasRest, prompt.words.length]).toEqual([2, true, 6]);
  });

  it.each(NAMES.map((name) => [name.slice(0, 20), name]))('keep any text: %j', (_shown, name) => {
    const decision = { endpoint: name, score: 1, prefill: name, by: name };
    const redacted = { headers: { [name]: name }, fairness: name };
    const request = { id: name, model: name, objective: name, fairnessId: 'tenant' };
    const { r, d } = readAgain(request, { decision, redacted });
    expect(r).toMatchObject({ id: name, model: name, objective: name, fairness: name });
    expect(r.headers).toEqual(redacted.headers);
    expect(d).toEqual(decision);
    expect(recordsOf((lines) => lines.served(1, 2, name))).toEqual([
      { e: 'served', t: 1, n: 2, address: name },
    ]);
  });

  it.each([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    -0,
    0,
    -1,
    1 / 3,
    5e-324,
    2 ** 31,
    Number.MAX_VALUE,
  ])('keep any score to the last bit: %s', (score) => {
    const { d } = readAgain({}, { decision: { endpoint: 'a', score } });
    expect('score' in d && Object.is(d.score, score)).toBe(true);
  });

  it('hold blocks in runs of consecutive numbers', () => {
    const blocksOf = (...prompts: readonly (readonly number[])[]): readonly unknown[] =>
      recordsOf((lines) => {
        for (const ids of prompts) {
          const words = Uint32Array.from(ids.flatMap((id) => [id, 0]));
          lines.answered(1, 2, { count: ids.length, blockTokens: 64, words });
        }
      }).map((record) => (record.e === 'answer' ? record.blocks : []));
    expect(blocksOf([10, 20, 30], [10, 20, 40, 50], [20, 10], [], [50, 30], [60])).toEqual([
      [[0, 3]],
      [
        [0, 2],
        [3, 2],
      ],
      [
        [1, 1],
        [0, 1],
      ],
      [],
      [
        [4, 1],
        [2, 1],
      ],
      [[5, 1]],
    ]);
  });

  it('keep any number and any time', () => {
    const random = seededRandom(4);
    const near = [9, 10, 99, 100, 999, 1000, 1001, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53];
    const drawn = Array.from({ length: 2000 }, () => random.next() * 10 ** (14 * random.next()));
    const micros = drawn.map((each) => Math.floor(1000 * each) / 1000);
    for (const each of [0, ...near, ...near.map((n) => n / 1000), ...drawn, ...micros]) {
      const n = Math.floor(each);
      const fields = recordsOf((lines) => lines.firstToken(each, n));
      expect(fields).toEqual([{ e: 'first', t: each, n }]);
    }
  });

  it('hold what became of a request', () => {
    const usage = { promptTokens: 10, completionTokens: 20, cachedTokens: undefined };
    const records = recordsOf((lines) => {
      lines.done(1500, 3, 'completed', undefined);
      lines.done(1500, 3, 'aborted', usage, 0);
      lines.done(1500, 3, 'failed', { ...usage, cachedTokens: 0 });
      lines.answered(1500, 3, chainBlockIds([], { seedText: 'm', blockTokens: 64 }));
    });
    const about = { e: 'done', t: 1500, n: 3 };
    expect(records).toEqual([
      { ...about, o: 'completed' },
      { ...about, o: 'aborted', u: [10, 20, null], bytes: 0 },
      { ...about, o: 'failed', u: [10, 20, 0] },
      { e: 'answer', t: 1500, n: 3, blockTokens: 64, blocks: [] },
    ]);
  });

  it('are read where an earlier version wrote everything, and null for NaN', () => {
    const r = { id: 'r1', model: 'm', streaming: false, promptTokens: 3, bodyBytes: 12 };
    const fields = { ...r, priority: 2, fairness: 'hash', blockTokens: 16, blocks: [[4, 2]] };
    const about = { t: 1, n: 0, firstTokenSeen: false, endSeen: false };
    const record = { e: 'q', ...about, r: fields, d: { endpoint: 'a', score: Number.NaN } };
    const line = JSON.stringify(record);
    expect(line).toContain('"score":null');
    expect(recordOf(line)).toEqual(record);
  });

  it('hold samples as they are', () => {
    const sample = { waiting: 3, running: 14, kv: 0.1 + 0.2, sampledAt: 123_456.789_012_3 };
    const endpoint = makeEndpoint('pod "a"', sample);
    expect(recordsOf((lines) => lines.sampled(endpoint))).toEqual([
      { e: 'm', id: 'pod "a"', m: [3, 14, 0.1 + 0.2, 123_456.789_012_3] },
    ]);
  });

  it('are handed over whole, counted, and in order', () => {
    const lines = new CaptureLines();
    const handed: { readonly text: string; readonly records: number }[] = [];
    lines.listen((bytes, records) => {
      handed.push({ text: new TextDecoder().decode(bytes), records });
    });
    for (let n = 0; n < 10_000; n++) {
      if (n === 5000) lines.record({ e: '-', id: 'y'.repeat(1_000_000) });
      lines.firstToken(1000 * n, n);
    }
    lines.drain();
    lines.drain();
    expect(handed.length).toBeGreaterThan(4);
    for (const { text, records } of handed) {
      expect(text.endsWith('\n')).toBe(true);
      expect(text.split('\n')).toHaveLength(records + 1);
    }
    const all = handed.flatMap(({ text }) => text.trimEnd().split('\n').map(recordOf));
    expect(all.flatMap((each) => (each.e === 'first' ? [each.n] : []))).toEqual(
      Array.from({ length: 10_000 }, (_, n) => n),
    );
    expect(all).toHaveLength(10_001);
  });

  it('stay right when more names come than are remembered', () => {
    const names = Array.from({ length: 25_000 }, (_, n) => `m${n % 12_000}`);
    const records = recordsOf((lines) => {
      for (const [n, name] of names.entries()) lines.served(1, n, name);
    });
    expect(records.map((each) => (each.e === 'served' ? each.address : ''))).toEqual(names);
  });
});
