import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const NAME = /^capture-(\d{6,})\.jsonl\.zst$/;

interface CaptureFile {
  readonly path: string;
  readonly number: number;
}

/** The files of a capture's folder, oldest first. Throws where the folder cannot be read. */
export function captureFiles(folder: string): readonly CaptureFile[] {
  return readdirSync(folder)
    .flatMap((name) => {
      const number = NAME.exec(name)?.[1];
      return number === undefined ? [] : [{ path: join(folder, name), number: Number(number) }];
    })
    .sort((a, b) => a.number - b.number);
}

/** The path of the file with this number: files sort by name in the order of their numbers. */
export function captureFilePath(folder: string, number: number): string {
  return join(folder, `capture-${String(number).padStart(6, '0')}.jsonl.zst`);
}

/** Deletes the oldest files until all have at most so many bytes; the youngest stays. */
export function deleteOldest(folder: string, totalBytesMax: number): void {
  const files = captureFiles(folder).map(({ path }) => ({ path, bytes: statSync(path).size }));
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { path, bytes } of files.slice(0, -1)) {
    if (total <= totalBytesMax) return;
    rmSync(path);
    total -= bytes;
  }
}
