import {
  existsSync,
  mkdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import {
  capturesRoot,
  firstRecord,
  lineOf,
  writerBed,
} from '../../../test/support/capture-writer-bed.ts';
import { registerCaptureMetrics } from '../metrics/process/capture-metrics.ts';
import { readCapture } from './read-capture.ts';

const root = capturesRoot();

describe('CaptureWriter, where it cannot write,', () => {
  it('writes no more, and says so once, while it cannot delete', async () => {
    // Where a file should be.
    mkdirSync(join(root, 'stuck', 'capture-000000.jsonl.zst'), { recursive: true });
    const { writer, failures } = writerBed(root, 'stuck', {
      fileBytesMax: 2000,
      totalBytesMax: 6000,
    });
    for (let n = 0; n < 3000; n++) {
      writer.write(...lineOf(firstRecord(n)));
      if (n % 100 === 99) await writer.flush();
    }
    await writer.close();
    expect(failures).toHaveLength(1);
  });

  it('[V75] writes again after a failure, in a new file that says how much is missing', async () => {
    const limits = { fileBytesMax: 1e6, totalBytesMax: 1e9 };
    const { folder, writer, failures, resumed, later } = writerBed(root, 'broken', limits);
    writer.write(...lineOf(firstRecord(1)));
    await writer.flush();
    // A file in place of the folder: nothing can be written.
    rmSync(folder, { recursive: true });
    writeFileSync(folder, '');
    for (const n of [2, 3]) {
      writer.write(...lineOf(firstRecord(n)));
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
    writer.write(...lineOf(firstRecord(4)));
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
    const { folder, writer, failures, later } = writerBed(root, 'full', {
      fileBytesMax: 1e6,
      totalBytesMax: 1e9,
    });
    await writer.flush();
    const path = join(folder, 'capture-000000.jsonl.zst');
    rmSync(path);
    symlinkSync('/dev/full', path);
    writer.write(...lineOf(firstRecord(1)));
    await writer.flush();
    rmSync(path);
    expect(failures).toEqual([expect.stringContaining('ENOSPC')]);
    later(1000);
    await writer.flush();
    writer.write(...lineOf(firstRecord(2)));
    await writer.close();
    expect([...readCapture(folder).records].at(-1)).toEqual(firstRecord(2));
  });

  it('[V75] a frame that a failure has cut off is the end of a run, and the next one is read', async () => {
    const { folder, writer } = writerBed(root, 'cut', { fileBytesMax: 1e6, totalBytesMax: 1e9 });
    writer.write(...lineOf(firstRecord(1)));
    await writer.flush();
    writer.write(...lineOf(firstRecord(2)));
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
});
