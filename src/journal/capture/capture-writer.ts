import { appendFile, rm, truncate } from 'node:fs/promises';
import { makeFolder, PRIVATE_FILE, PRIVATE_FOLDER } from '../../files/folders.ts';
import { messageOf } from '../../framework/error.ts';
import { captureFilePath, captureFiles, deleteOldest } from './capture-files.ts';
import type { CaptureHead, CaptureRecord } from './capture-record.ts';
import { compress } from './compress-lines.ts';
import { GatheredBytes } from './gathered-bytes.ts';
import { utf8 } from './line-bytes.ts';

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
  readonly head: (file: number) => CaptureHead;
  /** Called when nothing can be written any more, once until it can again. */
  readonly onFailed: (reason: string) => void;
  /** Called when writing succeeds again, with the number of records that are lost. */
  readonly onResumed?: ((lostRecords: number) => void) | undefined;
  /** Milliseconds from any beginning; the real time by default. */
  readonly now?: (() => number) | undefined;
}

/** How a capture goes. */
export interface CaptureStatus {
  readonly writing: boolean;
  readonly failures: number;
  /** Records that are missing because writing failed. */
  readonly lostRecords: number;
  /** Records that are missing because they came faster than they could be written. */
  readonly leftOutRecords: number;
}

/** Lines on their way to a file. */
interface Frame {
  readonly lines: Uint8Array<ArrayBuffer>;
  readonly records: number;
  /** Counts the files of this run. */
  readonly file: number;
  /** How often writing had failed before these lines were gathered. */
  readonly failures: number;
}

/** A crash loses the records of at most this long. */
const FLUSH_MS = 1000;
/** Bytes that may wait to be written; beyond them records are counted and left out. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024;
/** The wait before writing is tried again after a failure, doubled each time up to the maximum. */
const RETRY_MS = 1000;
const RETRY_MS_MAX = 60_000;

/**
 * Writes records in zstd frames, one a second, off the path of requests, into files that only their
 * owner can read. Records that cannot be written in time are counted and left out. After a failure,
 * such as a full disk, it tries again with growing waits, in a new file that says what is missing.
 */
export class CaptureWriter {
  readonly #options: CaptureWriterOptions;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  readonly #lines = new GatheredBytes();
  /** In `#lines`. */
  #records = 0;
  /** In `#lines` and on the way to a file. */
  #bytes = 0;
  #leftOut = 0;
  #leftOutTotal = 0;
  /** The number in the folder that is tried for the next file. */
  #nextNumber: number;
  /** The last file of which something was written, or tried to be. */
  #begun = { file: -1, path: '' };
  #file = 0;
  #fileBytes = 0;
  #mustDelete = false;
  #writing: Promise<void> = Promise.resolve();
  #failures = 0;
  /** Since writing last succeeded. */
  #failuresInSuccession = 0;
  /** When writing is tried again; undefined while it works. */
  #retryAt: number | undefined;
  #lost = 0;
  #lostTotal = 0;

  /** Throws the system's error when the folder cannot be made. */
  constructor(options: CaptureWriterOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
    const { folder, totalBytesMax } = options;
    makeFolder(folder, PRIVATE_FOLDER);
    this.#nextNumber = (captureFiles(folder).at(-1)?.number ?? -1) + 1;
    deleteOldest(folder, totalBytesMax);
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS);
    this.#timer.unref();
    this.#begin();
  }

  status(): CaptureStatus {
    return {
      writing: this.#retryAt === undefined && this.#failuresInSuccession === 0,
      failures: this.#failures,
      lostRecords: this.#lostTotal,
      leftOutRecords: this.#leftOutTotal,
    };
  }

  /** Takes whole lines of JSON and their number, and copies them. */
  readonly write = (lines: Uint8Array, records: number): void => {
    if (this.#retryAt !== undefined) {
      this.#lose(records);
      return;
    }
    if (this.#bytes > WAITING_BYTES_MAX) {
      this.#leftOut += records;
      this.#leftOutTotal += records;
      return;
    }
    if (this.#leftOut > 0) {
      this.#push(lineOf({ e: 'gap', records: this.#leftOut }), 0);
      this.#leftOut = 0;
    }
    this.#push(lines, records);
  };

  /** Resolves when all lines so far are in a file, or have failed to get there. */
  flush(): Promise<void> {
    this.#options.drain?.();
    if (this.#retryAt !== undefined && this.#now() >= this.#retryAt) this.#resume();
    if (this.#lines.length === 0) return this.#writing;
    const frame = { ...this.#takeLines(), file: this.#file, failures: this.#failures };
    const isFull = this.#fileBytes >= this.#options.fileBytesMax;
    this.#writing = this.#writing.then(() => this.#append(frame));
    // The head describes this moment: all records before it are in the lines.
    if (isFull) this.#beginNext();
    return this.#writing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  #push(lines: Uint8Array, records: number): void {
    this.#bytes += lines.length;
    this.#records += records;
    this.#lines.add(lines);
  }

  #takeLines(): Pick<Frame, 'lines' | 'records'> {
    const records = this.#records;
    this.#records = 0;
    return { lines: this.#lines.take(), records };
  }

  async #append(frame: Frame): Promise<void> {
    const { lines, records, file, failures } = frame;
    try {
      // Gathered before a failure: the file that it belongs to has ended.
      if (failures !== this.#failures) this.#lose(records);
      else await this.#appendTo(file, lines);
    } catch (error) {
      this.#lose(records);
      await this.#fail(file, error);
    } finally {
      this.#bytes -= lines.length;
      this.#lines.giveBack(lines);
    }
  }

  async #appendTo(file: number, lines: Uint8Array<ArrayBuffer>): Promise<void> {
    const { folder, totalBytesMax, onResumed } = this.#options;
    // First, so that a file that cannot be deleted never takes the folder beyond its bound.
    if (this.#mustDelete) deleteOldest(folder, totalBytesMax);
    this.#mustDelete = false;
    const bytes = await compress(lines);
    if (file !== this.#begun.file) this.#begun = { file, path: await this.#makeFile() };
    await appendFile(this.#begun.path, bytes, { mode: PRIVATE_FILE });
    // The last frame of a file that is full does not count for the next file.
    if (file === this.#file) this.#fileBytes += bytes.length;
    if (this.#failuresInSuccession === 0) return;
    this.#failuresInSuccession = 0;
    onResumed?.(this.#lost);
    this.#lost = 0;
  }

  async #fail(file: number, error: unknown): Promise<void> {
    this.#failures += 1;
    const waitMs = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** Math.min(this.#failuresInSuccession, 10));
    this.#failuresInSuccession += 1;
    this.#retryAt = this.#now() + waitMs;
    const { lines, records } = this.#takeLines();
    this.#bytes -= lines.length;
    this.#lines.giveBack(lines);
    this.#lose(records);
    if (this.#failuresInSuccession === 1) {
      this.#options.onFailed(messageOf(error));
    }
    const isPresent = file === this.#file && file === this.#begun.file;
    if (isPresent) await dropUnfinished(this.#begun.path, this.#fileBytes);
  }

  #lose(records: number): void {
    this.#lost += records;
    this.#lostTotal += records;
  }

  /** A new file: that of the failure may end with a part of a frame. */
  #resume(): void {
    try {
      makeFolder(this.#options.folder, PRIVATE_FOLDER);
    } catch {
      // The write that follows fails for the same reason, and says so.
    }
    this.#retryAt = undefined;
    this.#file += 1;
    this.#fileBytes = 0;
    this.#mustDelete = true;
    const head: CaptureHead = { ...this.#options.head(this.#file), afterFailure: true };
    this.#push(lineOf(head), 0);
    this.#push(lineOf({ e: 'gap', records: this.#lost }), 0);
  }

  #beginNext(): void {
    this.#file += 1;
    this.#fileBytes = 0;
    this.#mustDelete = true;
    this.#begin();
  }

  /** Called while nothing is gathered, so that the head is the first line of its file. */
  #begin(): void {
    this.#push(lineOf(this.#options.head(this.#file)), 0);
  }

  /** Makes the file with the next number that is free: another picker may write there, too. */
  async #makeFile(): Promise<string> {
    for (;;) {
      const path = captureFilePath(this.#options.folder, this.#nextNumber);
      // Not taken again where the file is packed or moved away meanwhile.
      this.#nextNumber += 1;
      try {
        await appendFile(path, '', { mode: PRIVATE_FILE, flag: 'ax' });
        return path;
      } catch (error) {
        if (!isTaken(error)) throw error;
      }
    }
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** Removes the part of a frame that got into the file, so that the frames before stay readable. */
async function dropUnfinished(path: string, bytes: number): Promise<void> {
  try {
    if (bytes === 0) await rm(path, { force: true });
    else await truncate(path, bytes);
  } catch {
    // Readers take a frame that is cut off before a failure for the end of a run.
  }
}

function lineOf(record: CaptureRecord): Uint8Array {
  return utf8(`${JSON.stringify(record)}\n`);
}
