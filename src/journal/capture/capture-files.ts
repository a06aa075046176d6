import { readdirSync } from 'node:fs';
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

export function captureFilePath(folder: string, number: number): string {
  return join(folder, `capture-${String(number).padStart(6, '0')}.jsonl.zst`);
}
