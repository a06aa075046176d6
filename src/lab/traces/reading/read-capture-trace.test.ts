import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../../framework/error.ts';
import type { CapturedRequest, CaptureRecord } from '../../../journal/capture/capture-record.ts';
import { seededRandom } from '../../../runtime/seeded-random.ts';
import { TraceError } from '../trace.ts';
import type { CaptureProgress } from './read-capture-trace.ts';
import { readTrace } from './read-trace.ts';

let folder = '';
const folders: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pointsman-capture-trace-'));
  folders.push(folder);
});
afterAll(() => {
  for (const each of folders) rmSync(each, { recursive: true });
});

/** As the writer does: frames of whole lines, one after another. */
function capture(file: number, ...frames: readonly (readonly object[])[]): string {
  const path = join(folder, `capture-${String(file).padStart(6, '0')}.jsonl.zst`);
  for (const records of frames) {
    const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
    appendFileSync(path, zstdCompressSync(Buffer.from(text)));
  }
  return path;
}

const head = (file: number, wallMs = 1_000_000, t = 500): CaptureRecord => ({
  e: 'capture',
  version: 1,
  seed: 1,
  config: {},
  wallMs,
  t,
  file,
});
const request = (promptTokens: number, blocks: CapturedRequest['blocks']): CapturedRequest => ({
  id: 'r',
  model: 'm',
  streaming: true,
  promptTokens,
  blockTokens: 64,
  blocks,
  priority: 0,
  fairness: 'default-flow',
  bodyBytes: 100,
});
const asked = (t: number, n: number, r: CapturedRequest): CaptureRecord => ({
  e: 'q',
  t,
  n,
  r,
  firstTokenSeen: true,
  endSeen: true,
  d: { endpoint: 'a', score: 1 },
});

describe('a capture read as a trace', () => {
  it('[O109] is refused where a later version has written it', () => {
    const path = capture(0, [{ ...head(0), version: 4 }, asked(600, 1, request(64, []))]);
    expect(() => readTrace(path, { lenient: false })).toThrow(
      /record\.version: .*is later than 3.*use a newer one/,
    );
  });

  it('[G206] has times with whole microseconds, as the capture has', () => {
    const wallMs = 1_795_939_113_998.303;
    capture(0, [
      head(0, wallMs, 0.117),
      asked(600.001, 0, request(64, [])),
      asked(1323.471, 1, request(64, [])),
      { e: 'first', t: 1400.1, n: 1 },
      { e: 'done', t: 1500.7, n: 1, o: 'completed', u: [64, 20, 0] },
    ]);
    const [, second] = readTrace(folder, { lenient: false }).requests;
    expect(second?.atMs).toBe(723.47);
    expect(second?.seen).toEqual({ outcome: 'completed', ttftMs: 76.629, e2eMs: 177.229 });
  });

  it('has the blocks, the tokens that servers counted, and what became of requests', () => {
    capture(
      0,
      [
        head(0),
        { e: '+', id: 'a', address: 'a', labels: {} },
        asked(600, 0, request(130, [[0, 2]])),
      ],
      [
        asked(
          650,
          1,
          request(200, [
            [0, 1],
            [7, 2],
          ]),
        ),
        { e: 'first', t: 660.5, n: 0 },
        { e: 'done', t: 700, n: 0, o: 'completed', u: [150, 20, 0] },
      ],
    );
    capture(1, [head(1, 1_000_300, 800), { e: 'done', t: 810, n: 1, o: 'aborted' }]);
    const { requests, blockTokens, notes } = readTrace(folder, { lenient: false });
    expect(blockTokens).toBe(64);
    expect(requests).toEqual([
      {
        atMs: 0,
        model: 'm',
        promptTokens: 150,
        outputTokens: 20,
        blockIds: [0, 1],
        seen: { outcome: 'completed', ttftMs: 60.5, e2eMs: 100 },
      },
      {
        atMs: 50,
        model: 'm',
        promptTokens: 200,
        outputTokens: 20,
        blockIds: [0, 7, 8],
        seen: { outcome: 'aborted', e2eMs: 160 },
      },
    ]);
    expect(notes).toEqual(['1 answer whose tokens no server reported: guessed from the others']);
  });

  it('[O378] has the times at which requests arrived, not those at which they were decided', () => {
    capture(0, [
      head(0),
      { ...asked(900, 0, request(64, [])), waitedMs: 300 },
      asked(910, 1, request(64, [])),
      { ...asked(950, 2, request(64, [])), waitedMs: 400 },
      { e: 'first', t: 960, n: 2 },
      { e: 'done', t: 1000, n: 2, o: 'completed', u: [64, 2, 0] },
    ] as CaptureRecord[]);
    const { requests } = readTrace(folder, { lenient: false });
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 50, 360]);
    expect(requests[0]?.seen).toEqual({ outcome: 'completed', ttftMs: 410, e2eMs: 450 });
  });

  it('[O320] has the priority and the fairness id of each request, without the defaults', () => {
    const path = capture(0, [
      head(0),
      asked(600, 0, { ...request(64, [[0, 1]]), priority: -2, fairness: '#9f2c' }),
      asked(610, 1, { ...request(64, [[0, 1]]), priority: 0, fairness: 'default-flow' }),
    ]);
    const { requests } = readTrace(path, { lenient: false });
    expect(requests.map(({ priority, fairnessId }) => [priority, fairnessId])).toEqual([
      [-2, '#9f2c'],
      [undefined, undefined],
    ]);
  });

  it('takes the whole body where one was decided on its beginning, and never fewer tokens than its blocks have', () => {
    const path = capture(0, [
      head(0),
      asked(600, 0, request(64, [[0, 1]])),
      { e: 'body', t: 610, n: 0, r: request(640, [[0, 10]]) },
      { e: 'done', t: 700, n: 0, o: 'completed', u: [500, 5, null] },
    ]);
    const [only] = readTrace(path, { lenient: false }).requests;
    expect(only?.promptTokens).toBe(640);
    expect(only?.blockIds).toHaveLength(10);
  });

  it('keeps the numbers of pickers apart that wrote into one folder one after another', () => {
    capture(0, [
      head(0),
      asked(600, 0, request(64, [[0, 1]])),
      { e: 'done', t: 610, n: 0, o: 'completed', u: [64, 5, 0] },
    ]);
    capture(0, [head(0, 1_060_000, 20), asked(30, 0, request(64, [[0, 1]]))]);
    const { requests, notes } = readTrace(folder, { lenient: false });
    expect(requests.map(({ atMs, blockIds }) => [atMs, blockIds])).toEqual([
      [0, [0]],
      [59_910, [1]],
    ]);
    expect(notes).toContain('1 request had not ended when the capture did');
  });

  it('guesses answers that were not counted: by their bytes as such answers have, else as the median, never above what was asked for', () => {
    const ask = (n: number, more: Partial<CapturedRequest>): object =>
      asked(600 + n, n, { ...request(64, [[0, 1]]), ...more });
    const done = (n: number, more: object): object => ({
      e: 'done',
      t: 900,
      n,
      o: 'completed',
      ...more,
    });
    capture(0, [
      head(0),
      ...[0, 1, 2, 3, 4, 5].map((n) =>
        ask(n, { streaming: n !== 2 && n !== 3, ...(n === 5 && { outputTokensMax: 6 }) }),
      ),
      done(0, { u: [64, 10, null], bytes: 2000 }),
      done(1, { u: [64, 30, null], bytes: 6000 }),
      done(2, { u: [64, 12, null] }),
      done(3, { bytes: 500 }),
      done(4, { bytes: 5000 }),
      done(5, { o: 'failed', bytes: 10 }),
    ]);
    const { requests } = readTrace(folder, { lenient: false });
    expect(requests.map(({ outputTokens }) => outputTokens)).toEqual([10, 30, 12, 12, 25, 6]);
  });

  it('is read from a file that somebody has unpacked, too', () => {
    const path = join(folder, 'unpacked.jsonl');
    const records = [head(0), asked(600, 0, request(64, [[0, 1]]))];
    writeFileSync(path, records.map((each) => JSON.stringify(each)).join('\n'));
    expect(readTrace(path, { lenient: false }).requests).toMatchObject([
      { promptTokens: 64, blockIds: [0] },
    ]);
  });

  it('has requests that were refused, too: they were asked', () => {
    const refused = { ...asked(650, 1, request(64, [[0, 1]])), d: { error: 'saturated' } };
    const done = { e: 'done', t: 700, n: 0, o: 'completed', u: [64, 9, null] };
    capture(0, [head(0), asked(600, 0, request(64, [[0, 1]])), refused, done]);
    const { requests, notes } = readTrace(folder, { lenient: false });
    expect(requests[1]).toMatchObject({ outputTokens: 9, seen: { outcome: 'failed', e2eMs: 0 } });
    expect(notes).toHaveLength(1);
  });

  it('is refused where a record makes no sense, with its number, or read without it', () => {
    const path = capture(0, [
      head(0),
      asked(600, 0, request(64, [[0, 1]])),
      { e: 'q', t: 'soon', n: 1 },
    ]);
    expect(() => readTrace(path, { lenient: false })).toThrow(`${path}:3: q.t: `);
    expect(readTrace(path, { lenient: true })).toMatchObject({
      repaired: 1,
      requests: [{ atMs: 0 }],
    });
  });

  it('[G245] keeps requests and blocks of runs apart by their seeds, as where pickers share a folder', () => {
    const blocks: CapturedRequest['blocks'] = [[0, 1]];
    const ended = (t: number): CaptureRecord => ({ e: 'done', t, n: 0, o: 'completed' });
    capture(0, [head(0), asked(600, 0, request(64, blocks))]);
    // The first file of this run has been deleted.
    const other = { ...head(1, 2_000_000), seed: 2 };
    capture(1, [other, ended(610), asked(700, 0, request(64, blocks)), ended(800)]);
    const { requests } = readTrace(folder, { lenient: false });
    expect(requests.map(({ atMs, blockIds, seen }) => [atMs, blockIds, seen?.e2eMs])).toEqual([
      [0, [0], undefined],
      [1_000_100, [1], 100],
    ]);
  });

  it('however damaged is refused or sound, and never an error of ours', () => {
    const path = capture(0, [
      head(0),
      asked(600, 0, request(64, [[0, 1]])),
      { e: 'done', t: 700, n: 0, o: 'completed', u: [500, 5, null] },
    ]);
    const text = JSON.stringify(asked(600, 0, request(64, [[0, 1]])));
    const first = JSON.stringify(head(0));
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed);
      const at = Math.floor(text.length * random.next());
      const put = ['', '9', '-', '"', '1e300', '[]', '}'][Math.floor(7 * random.next())] ?? '';
      const bad = `${first}\n${text.slice(0, at)}${put}${text.slice(at + Math.floor(9 * random.next()))}\n`;
      const bytes = zstdCompressSync(Buffer.from(`${bad}${text}\n`));
      if (random.next() < 0.3) bytes[Math.floor(bytes.length * random.next())] = 7;
      writeFileSync(path, bytes);
      for (const lenient of [false, true]) {
        try {
          const { requests } = readTrace(path, { lenient });
          expect(requests.length, `seed ${seed}`).toBeGreaterThan(0);
        } catch (error) {
          const ours = !(error instanceof TraceError || error instanceof ConfigError);
          if (ours) throw new Error(`seed ${seed}`, { cause: error });
        }
      }
    }
  });
});

it('[G287] says of a large capture, while it is read, how far it is, and of a small one nothing', () => {
  const progressOf = (file: number, firsts: number): readonly CaptureProgress[] => {
    const later = Array.from({ length: firsts }, (_, n) => ({ e: 'first', t: n, n }));
    const path = capture(file, [head(file), asked(0, 0, request(64, [])), ...later], later);
    const said: CaptureProgress[] = [];
    readTrace(path, { lenient: false, onCaptureProgress: (progress) => said.push(progress) });
    return said;
  };
  expect(progressOf(0, 10)).toEqual([]);
  const [first, ...others] = progressOf(1, 32_768);
  expect(others).toHaveLength(1);
  expect(first?.requests).toBe(1);
  expect(first?.readBytes).toBeGreaterThan(0);
  expect(first?.readBytes).toBeLessThan(first?.totalBytes ?? 0);
});
