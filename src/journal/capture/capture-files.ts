import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** As the picker writes it, decompressed by hand, or packed once more as logrotate does it. */
const NAME = /^(capture-(\d{6,}))\.jsonl(?:\.zst)?(?:\.gz)?$/;

export interface CaptureFile {
  readonly path: string;
  /** The path without what says how it is packed: a file and its copies have the same. */
  readonly stem: string;
  readonly number: number;
}

/**
 * The files of a capture's folder, oldest first. A file that was packed comes before another with its
 * number: where that happened while the picker wrote to it, the other has what came afterwards.
 * Throws where the folder cannot be read.
 */
export function captureFiles(folder: string): readonly CaptureFile[] {
  return readdirSync(folder)
    .toSorted()
    .toReversed()
    .flatMap((name) => {
      const [, stem = '', number] = NAME.exec(name) ?? [];
      if (number === undefined) return [];
      return [{ path: join(folder, name), stem: join(folder, stem), number: Number(number) }];
    })
    .sort((a, b) => a.number - b.number);
}

/** The files of a folder to read; where it has none, those of each folder in it, by name. */
export function filesToRead(folder: string): readonly CaptureFile[] {
  const own = captureFiles(folder);
  if (own.length > 0) return own;
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .toSorted()
    .flatMap(captureFiles);
}

/** Bytes of a file; 0 where it is gone. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The path of the file with this number: files sort by name in the order of their numbers. */
export function captureFilePath(folder: string, number: number): string {
  return join(folder, `capture-${String(number).padStart(6, '0')}.jsonl.zst`);
}

/**
 * Deletes the oldest files until all have at most so many bytes; the youngest stays. Others may
 * pack or delete files meanwhile.
 */
export function deleteOldest(folder: string, totalBytesMax: number): void {
  const files = captureFiles(folder).map(({ path }) => ({ path, bytes: sizeOf(path) }));
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { path, bytes } of files.slice(0, -1)) {
    if (total <= totalBytesMax) return;
    rmSync(path, { force: true });
    total -= bytes;
  }
}
