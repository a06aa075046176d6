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
/** What repeats is near: the default level and window take more time for no fewer bytes, as do small pieces of output. */
const FAST = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_windowLog]: 17,
    [constants.ZSTD_c_hashLog]: 14,
  },
  chunkSize: 256 * 1024,
};

export interface CaptureWriterOptions {
  /** Made if it is not there. What earlier runs have left in it stays, as long as there is room, and what comes goes after it. */
  readonly folder: string;
  /** Of one file, before the next is begun. */
  readonly fileBytesMax: number;
  /** Of all files together: the oldest are deleted. */
  readonly totalBytesMax: number;
  /** Called before what has come is written: whoever keeps lines together hands over what it has. */
  readonly drain?: (() => void) | undefined;
  /** The first record of each file; `file` counts those of this run. */
  readonly head: (file: number) => CaptureRecord;
  /** Once, when nothing can be written any more: the capture has ended, and nothing else. */
  readonly onFailed: (reason: string) => void;
}

/** A crash loses what came since. */
const FLUSH_MS = 1000;
/** What may wait to be written; beyond it records are counted and left out. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Writes records as JSON Lines in zstd frames, one a second, off the path of requests: what cannot be written in time is
 * left out and counted, and a disk that is full ends the capture and nothing else.
 */
export class CaptureWriter {
  readonly #options: CaptureWriterOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #lines = new GatheredBytes();
  /** Gathered, or being written. */
  #bytes = 0;
  #leftOut = 0;
  /** Of the first file that is this run's own. */
  readonly #firstNumber: number;
  #file = 0;
  #fileBytes = 0;
  #mustDelete = false;
  #writing: Promise<void> = Promise.resolve();
  #failed = false;

  /** Throws when the folder cannot be made. */
  constructor(options: CaptureWriterOptions) {
    this.#options = options;
    makeFolder(options.folder);
    this.#firstNumber = (captureFiles(options.folder).at(-1)?.number ?? -1) + 1;
    this.#deleteOldest();
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS);
    this.#timer.unref();
    this.#begin();
  }

  /** Whole lines of JSON, and how many. They are copied. */
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

  /** Resolves when all that was written so far is in a file, or could not be. */
  flush(): Promise<void> {
    this.#options.drain?.();
    if (this.#lines.length === 0) return this.#writing;
    const lines = this.#lines.take();
    const path = this.#path;
    const isFull = this.#fileBytes >= this.#options.fileBytesMax;
    this.#writing = this.#writing.then(() => this.#append(lines, path));
    // What its head says is of this very moment: all before it is in the lines.
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
      // The last of a file that has been ended counts for none.
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

  /** Before anything else that goes into the file: nothing has been gathered yet. */
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
