import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, describe, expect, it } from 'vitest';
import { registerCaptureMetrics } from '../metrics/process/capture-metrics.ts';
import { CAPTURE_VERSION, type CaptureHead, type CaptureRecord } from './capture-record.ts';
import { CaptureWriter } from './capture-writer.ts';
import { utf8 } from './line-bytes.ts';
import { readCapture } from './read-capture.ts';

const root = mkdtempSync(join(tmpdir(), 'pointsman-writer-'));
afterAll(() => rmSync(root, { recursive: true }));

function setUp(
  name: string,
  { seed = 1, ...limits }: { fileBytesMax: number; totalBytesMax: number; seed?: number },
) {
  const folder = join(root, name);
  const failures: string[] = [];
  const resumed: number[] = [];
  let nowMs = 0;
  const writer = new CaptureWriter({
    ...limits,
    folder,
    head: (file): CaptureHead => ({
      e: 'capture',
      version: CAPTURE_VERSION,
      seed,
      config: {},
      wallMs: 0,
      t: 0,
      file,
    }),
    onFailed: (reason) => void failures.push(reason),
    onResumed: (lost) => void resumed.push(lost),
    now: () => nowMs,
  });
  const later = (ms: number): void => void (nowMs += ms);
  return { folder, writer, failures, resumed, later };
}

const line = (record: CaptureRecord): readonly [Uint8Array, number] => [
  utf8(`${JSON.stringify(record)}\n`),
  1,
];

/** What no compression makes small. */
const first = (n: number): CaptureRecord => ({ e: 'first', t: Math.sin(n) * 1e9, n });

describe('CaptureWriter', () => {
  it('writes what is read again, in order, each file with its head', async () => {
    const { folder, writer } = setUp('plain', { fileBytesMax: 1e6, totalBytesMax: 1e9 });
    const records = Array.from({ length: 1000 }, (_, n) => first(n));
    for (const [n, record] of records.entries()) {
      writer.write(...line(record));
      if (n % 300 === 0) await writer.flush();
    }
    await writer.close();
    const { records: read, warnings } = readCapture(folder);
    expect([...read].slice(1)).toEqual(records);
    expect(warnings).toEqual([]);
  });

  it('writes that another configuration took over, and reads it', async () => {
    const { folder, writer } = setUp('adopted', { fileBytesMax: 1e6, totalBytesMax: 1e9 });
    const adopted: CaptureRecord = { e: 'adopt', t: 5, config: { kind: 'other' } };
    writer.write(...line(adopted));
    await writer.close();
    expect([...readCapture(folder).records].slice(1)).toEqual([adopted]);
  });

  it('begins a new file when one is full, and deletes the oldest beyond its bound', async () => {
    const { folder, writer } = setUp('rotated', { fileBytesMax: 2000, totalBytesMax: 8000 });
    for (let n = 0; n < 3000; n++) {
      writer.write(...line(first(n)));
      if (n % 100 === 99) await writer.flush();
    }
    await writer.close();
    const files = readdirSync(folder).sort();
    expect(files.length).toBeGreaterThan(2);
    expect(files.length).toBeLessThan(8);
    expect(files[0]).not.toBe('capture-000000.jsonl.zst');
    const { records, warnings } = readCapture(folder);
    const kinds = [...records].map(({ e }) => e);
    expect(kinds[0]).toBe('capture');
    expect(kinds.filter((kind) => kind === 'capture')).toHaveLength(files.length);
    expect(warnings.join()).toMatch(/files? of the same run (is|are) missing before it/);
  });

  it('goes on after what runs before it have left, a crash at the end among it', async () => {
    const limits = { fileBytesMax: 2000, totalBytesMax: 1e9 };
    const runs = [1, 2, 3].map((seed) => ({ seed, records: [first(seed), first(10 * seed)] }));
    const folder = join(root, 'restarted');
    for (const { seed, records } of runs) {
      const { writer } = setUp('restarted', { ...limits, seed });
      for (const record of records) writer.write(...line(record));
      await writer.flush();
      for (let n = 0; n < 500; n++) writer.write(...line(first(1000 + n)));
      await writer.flush();
      writer.write(...line(first(0)));
      await writer.flush();
      writer.write(...line(first(seed)));
      await writer.close();
      const last = readdirSync(folder).sort().at(-1) ?? '';
      truncateSync(join(folder, last), statSync(join(folder, last)).size - 3);
    }
    expect(readdirSync(folder).length).toBeGreaterThanOrEqual(6);
    const { records, warnings } = readCapture(folder);
    const heads = [...records].flatMap((record) =>
      record.e === 'capture' ? [[record.seed, record.file]] : [],
    );
    expect(heads).toEqual([1, 2, 3].flatMap((seed) => [[seed, 0]]));
    expect(warnings).toHaveLength(3);
    expect(warnings.every((warning) => warning.includes('cut off'))).toBe(true);
  });

  it('refuses a file that was cut off in the middle of a run', async () => {
    const { folder, writer } = setUp('holed', { fileBytesMax: 2000, totalBytesMax: 1e9 });
    for (let n = 0; n < 6; n++) {
      for (let each = 0; each < 500; each++) writer.write(...line(first(500 * n + each)));
      await writer.flush();
    }
    await writer.close();
    const cut = join(folder, readdirSync(folder).sort()[1] ?? '');
    truncateSync(cut, statSync(cut).size - 3);
    expect(() => [...readCapture(folder).records]).toThrow(/000001.*\n.*damaged zstd data/);
  });

  it('takes the head of a file at the very moment from which on records go into it', async () => {
    const folder = join(root, 'headed');
    let written = 0;
    const writer = new CaptureWriter({
      folder,
      fileBytesMax: 500,
      totalBytesMax: 1e9,
      head: (file) => ({
        e: 'capture',
        version: CAPTURE_VERSION,
        seed: 1,
        config: {},
        wallMs: 0,
        t: 0,
        timers: written,
        file,
      }),
      onFailed: (reason) => expect.fail(reason),
    });
    let writing = Promise.resolve();
    for (let frame = 0; frame < 20; frame++) {
      for (let each = 0; each < 40; each++) {
        writer.write(...line({ e: 'timer', t: Math.sin(written) * 1e9, i: written }));
        written += 1;
        // More comes while the disk is busy.
        if (each === 20) writing = writer.flush();
      }
      await writing;
    }
    await writer.close();
    for (const name of readdirSync(folder)) {
      const [begins] = readCapture(join(folder, name)).records;
      expect(begins?.e).toBe('capture');
    }
    let next = 0;
    let heads = 0;
    for (const record of readCapture(folder).records) {
      if (record.e === 'capture') {
        expect(record.timers).toBe(next);
        heads += 1;
      } else if (record.e === 'timer') expect(record.i).toBe(next++);
    }
    expect(next).toBe(written);
    expect(heads).toBeGreaterThan(4);
  });

  it('writes no more, and says so once, while it cannot delete', async () => {
    // Where a file should be.
    mkdirSync(join(root, 'stuck', 'capture-000000.jsonl.zst'), { recursive: true });
    const { writer, failures } = setUp('stuck', { fileBytesMax: 2000, totalBytesMax: 6000 });
    for (let n = 0; n < 3000; n++) {
      writer.write(...line(first(n)));
      if (n % 100 === 99) await writer.flush();
    }
    await writer.close();
    expect(failures).toHaveLength(1);
  });

  it('[V75] writes again after a failure, in a new file that says how much is missing', async () => {
    const limits = { fileBytesMax: 1e6, totalBytesMax: 1e9 };
    const { folder, writer, failures, resumed, later } = setUp('broken', limits);
    writer.write(...line(first(1)));
    await writer.flush();
    // A file in place of the folder: nothing can be written.
    rmSync(folder, { recursive: true });
    writeFileSync(folder, '');
    for (const n of [2, 3]) {
      writer.write(...line(first(n)));
      await writer.flush();
    }
    expect(writer.status()).toMatchObject({ writing: false, failures: 1, lostRecords: 2 });
    for (const waitMs of [1000, 2000]) {
      later(waitMs - 1);
      await writer.flush();
      const { failures: before } = writer.status();
      later(1);
      await writer.flush();
      expect(writer.status().failures).toBe(before + 1);
    }
    rmSync(folder);
    later(4000);
    await writer.flush();
    writer.write(...line(first(4)));
    await writer.close();
    expect(failures).toHaveLength(1);
    expect(resumed).toEqual([2]);
    expect(writer.status()).toMatchObject({ writing: true, lostRecords: 2 });
    const registry = new Registry();
    registerCaptureMetrics(registry, writer);
    const page = await registry.metrics();
    expect(page).toContain('pointsman_capture_writing 1\n');
    expect(page).toContain('pointsman_capture_missing_records_total{reason="failure"} 2\n');
    const { records, warnings } = readCapture(folder);
    expect([...records]).toMatchObject([
      { e: 'capture', afterFailure: true },
      { e: 'gap', records: 2 },
      { e: 'first', n: 4 },
    ]);
    expect(warnings.join()).toContain('2 records were left out');
  });

  it.skipIf(!existsSync('/dev/full'))('[V75] survives a full disk', async () => {
    const { folder, writer, failures, later } = setUp('full', {
      fileBytesMax: 1e6,
      totalBytesMax: 1e9,
    });
    await writer.flush();
    const path = join(folder, 'capture-000000.jsonl.zst');
    rmSync(path);
    symlinkSync('/dev/full', path);
    writer.write(...line(first(1)));
    await writer.flush();
    rmSync(path);
    expect(failures).toEqual([expect.stringContaining('ENOSPC')]);
    later(1000);
    await writer.flush();
    writer.write(...line(first(2)));
    await writer.close();
    expect([...readCapture(folder).records].at(-1)).toEqual(first(2));
  });

  it('[V75] a frame that a failure has cut off is the end of a run, and the next one is read', async () => {
    const { folder, writer } = setUp('cut', { fileBytesMax: 1e6, totalBytesMax: 1e9 });
    writer.write(...line(first(1)));
    await writer.flush();
    writer.write(...line(first(2)));
    await writer.close();
    const path = join(folder, 'capture-000000.jsonl.zst');
    truncateSync(path, statSync(path).size - 3);
    const next = { e: 'capture', version: 3, seed: 1, config: {}, wallMs: 0, t: 0, file: 1 };
    const head = `${JSON.stringify({ ...next, afterFailure: true })}\n`;
    writeFileSync(join(folder, 'capture-000001.jsonl.zst'), head);
    const { records, warnings } = readCapture(folder);
    expect([...records].map(({ e }) => e)).toEqual(['capture', 'first', 'capture']);
    expect(warnings).toEqual([expect.stringContaining('cut off')]);
  });

  it('[V76] lets only the owner read what it writes', async () => {
    const { folder, writer } = setUp('private', { fileBytesMax: 1e6, totalBytesMax: 1e9 });
    writer.write(...line(first(1)));
    await writer.close();
    const modes = [folder, join(folder, 'capture-000000.jsonl.zst')].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600]);
  });

  it('leaves out and counts what comes faster than it can be written', async () => {
    const { folder, writer } = setUp('flooded', { fileBytesMax: 1e9, totalBytesMax: 1e9 });
    const large: CaptureRecord = { e: 'served', t: 0, n: 0, address: 'x'.repeat(1_000_000) };
    for (let n = 0; n < 50; n++) writer.write(...line(large));
    await writer.flush();
    writer.write(...line(first(1)));
    await writer.close();
    const { records, warnings } = readCapture(folder);
    const kinds = [...records].map(({ e }) => e);
    expect(kinds.filter((kind) => kind === 'served').length).toBeLessThan(50);
    expect(kinds.slice(-2)).toEqual(['gap', 'first']);
    expect(warnings.join()).toMatch(/\d+ records were left out/);
  });
});
