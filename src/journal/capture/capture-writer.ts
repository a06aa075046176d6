import { rmSync, statSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { makeFolder } from '../../files/folders.ts';
import { captureFilePath, captureFiles } from './capture-files.ts';
import type { CaptureRecord } from './capture-record.ts';
import { GatheredBytes } from './gathered-bytes.ts';
import { utf8 } from './line-bytes.ts';

const compress = promisify(zstdCompress);
/** Faster than the defaults, which save no bytes: repetitions are near each other. */
const FAST = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_windowLog]: 17,
    [constants.ZSTD_c_hashLog]: 14,
  },
  chunkSize: 256 * 1024,
};

interface CaptureWriterOptions {
  /** Made where it is missing. Files of earlier runs stay while there is room for them. */
  readonly folder: string;
  /** The next file is begun when a file has this many bytes. */
  readonly fileBytesMax: number;
  /** The bound for all files together: the oldest are deleted. */
  readonly totalBytesMax: number;
  /** Called before each flush: a source that gathers lines hands them over. */
  readonly drain?: (() => void) | undefined;
  /** Makes the first record of each file; `file` counts the files of this run from 0. */
  readonly head: (file: number) => CaptureRecord;
  /** Called once, when nothing can be written any more. Only the capture ends by that. */
  readonly onFailed: (reason: string) => void;
}

/** A crash loses the records of at most this long. */
const FLUSH_MS = 1000;
/** Bytes that may wait to be written; beyond them records are counted and left out. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Writes records in zstd frames, one a second, off the path of requests. Records that cannot be
 * written in time are counted and left out. A full disk ends only the capture.
 */
export class CaptureWriter {
  readonly #options: CaptureWriterOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #lines = new GatheredBytes();
  #bytes = 0;
  #leftOut = 0;
  /** The number of this run's first file. */
  readonly #firstNumber: number;
  #file = 0;
  #fileBytes = 0;
  #mustDelete = false;
  #writing: Promise<void> = Promise.resolve();
  #failed = false;

  /** Throws a ConfigError when the folder cannot be made. */
  constructor(options: CaptureWriterOptions) {
    this.#options = options;
    makeFolder(options.folder);
    this.#firstNumber = (captureFiles(options.folder).at(-1)?.number ?? -1) + 1;
    this.#deleteOldest();
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS);
    this.#timer.unref();
    this.#begin();
  }

  /** Takes whole lines of JSON and their number, and copies them. */
  readonly write = (lines: Uint8Array, records: number): void => {
    if (this.#failed) return;
    if (this.#bytes > WAITING_BYTES_MAX) {
      this.#leftOut += records;
      return;
    }
    if (this.#leftOut > 0) {
      this.#push(lineOf({ e: 'gap', records: this.#leftOut }));
      this.#leftOut = 0;
    }
    this.#push(lines);
  };

  /** Resolves when all lines so far are in a file, or have failed to get there. */
  flush(): Promise<void> {
    this.#options.drain?.();
    if (this.#lines.length === 0) return this.#writing;
    const lines = this.#lines.take();
    const path = this.#path;
    const isFull = this.#fileBytes >= this.#options.fileBytesMax;
    this.#writing = this.#writing.then(() => this.#append(lines, path));
    // The head describes this moment: all records before it are in the lines.
    if (isFull) this.#beginNext();
    return this.#writing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  #push(lines: Uint8Array): void {
    this.#bytes += lines.length;
    this.#lines.add(lines);
  }

  async #append(text: Uint8Array<ArrayBuffer>, path: string): Promise<void> {
    if (this.#failed) return;
    try {
      const frame = await compress(text, FAST);
      await appendFile(path, frame);
      // The last frame of a file that is full does not count for the next file.
      if (path === this.#path) this.#fileBytes += frame.length;
      if (this.#mustDelete) this.#deleteOldest();
      this.#mustDelete = false;
    } catch (error) {
      this.#failed = true;
      this.#lines.take();
      clearInterval(this.#timer);
      this.#options.onFailed(error instanceof Error ? error.message : String(error));
      return;
    } finally {
      this.#bytes -= text.length;
      this.#lines.giveBack(text);
    }
  }

  #beginNext(): void {
    this.#file += 1;
    this.#fileBytes = 0;
    this.#mustDelete = true;
    this.#begin();
  }

  /** Called while nothing is gathered, so that the head is the first line of its file. */
  #begin(): void {
    this.#push(lineOf(this.#options.head(this.#file)));
  }

  get #path(): string {
    return captureFilePath(this.#options.folder, this.#firstNumber + this.#file);
  }

  #deleteOldest(): void {
    const { folder, totalBytesMax } = this.#options;
    const files = captureFiles(folder).map(({ path }) => ({ path, bytes: statSync(path).size }));
    let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { path, bytes } of files.slice(0, -1)) {
      if (total <= totalBytesMax) return;
      rmSync(path);
      total -= bytes;
    }
  }
}

function lineOf(record: CaptureRecord): Uint8Array {
  return utf8(`${JSON.stringify(record)}\n`);
}
