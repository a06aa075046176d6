import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  capturesRoot,
  firstRecord,
  lineOf,
  writerBed,
} from '../../../test/support/capture-writer-bed.ts';
import { CAPTURE_VERSION, type CaptureRecord } from './capture-record.ts';
import { CaptureWriter } from './capture-writer.ts';
import { readCapture } from './read-capture.ts';

const root = capturesRoot();

describe('CaptureWriter', () => {
  it('writes what is read again, in order, each file with its head', async () => {
    const { folder, writer } = writerBed(root, 'plain', { fileBytesMax: 1e6, totalBytesMax: 1e9 });
    const records = Array.from({ length: 1000 }, (_, n) => firstRecord(n));
    for (const [n, record] of records.entries()) {
      writer.write(...lineOf(record));
      if (n % 300 === 0) await writer.flush();
    }
    await writer.close();
    const { records: read, warnings } = readCapture(folder);
    expect([...read].slice(1)).toEqual(records);
    expect(warnings).toEqual([]);
  });

  it('writes that another configuration took over, and reads it', async () => {
    const { folder, writer } = writerBed(root, 'adopted', {
      fileBytesMax: 1e6,
      totalBytesMax: 1e9,
    });
    const adopted: CaptureRecord = { e: 'adopt', t: 5, config: { kind: 'other' } };
    writer.write(...lineOf(adopted));
    await writer.close();
    expect([...readCapture(folder).records].slice(1)).toEqual([adopted]);
  });

  it('begins a new file when one is full, and deletes the oldest beyond its bound', async () => {
    const { folder, writer } = writerBed(root, 'rotated', {
      fileBytesMax: 2000,
      totalBytesMax: 8000,
    });
    for (let n = 0; n < 3000; n++) {
      writer.write(...lineOf(firstRecord(n)));
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
    const runs = [1, 2, 3].map((seed) => ({
      seed,
      records: [firstRecord(seed), firstRecord(10 * seed)],
    }));
    const folder = join(root, 'restarted');
    for (const { seed, records } of runs) {
      const { writer } = writerBed(root, 'restarted', { ...limits, seed });
      for (const record of records) writer.write(...lineOf(record));
      await writer.flush();
      for (let n = 0; n < 500; n++) writer.write(...lineOf(firstRecord(1000 + n)));
      await writer.flush();
      writer.write(...lineOf(firstRecord(0)));
      await writer.flush();
      writer.write(...lineOf(firstRecord(seed)));
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
    const { folder, writer } = writerBed(root, 'holed', { fileBytesMax: 2000, totalBytesMax: 1e9 });
    for (let n = 0; n < 6; n++) {
      for (let each = 0; each < 500; each++) writer.write(...lineOf(firstRecord(500 * n + each)));
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
        writer.write(...lineOf({ e: 'timer', t: Math.sin(written) * 1e9, i: written }));
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

  it('[V76] lets only the owner read what it writes', async () => {
    const { folder, writer } = writerBed(root, 'private', {
      fileBytesMax: 1e6,
      totalBytesMax: 1e9,
    });
    writer.write(...lineOf(firstRecord(1)));
    await writer.close();
    const modes = [folder, join(folder, 'capture-000000.jsonl.zst')].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600]);
  });

  it('leaves out and counts what comes faster than it can be written', async () => {
    const { folder, writer } = writerBed(root, 'flooded', {
      fileBytesMax: 1e9,
      totalBytesMax: 1e9,
    });
    const large: CaptureRecord = { e: 'served', t: 0, n: 0, address: 'x'.repeat(1_000_000) };
    for (let n = 0; n < 50; n++) writer.write(...lineOf(large));
    await writer.flush();
    writer.write(...lineOf(firstRecord(1)));
    await writer.close();
    const { records, warnings } = readCapture(folder);
    const kinds = [...records].map(({ e }) => e);
    expect(kinds.filter((kind) => kind === 'served').length).toBeLessThan(50);
    expect(kinds.slice(-2)).toEqual(['gap', 'first']);
    expect(warnings.join()).toMatch(/\d+ records were left out/);
  });
});
