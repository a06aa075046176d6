import { closeSync, fchmodSync, openSync, statSync } from 'node:fs';
import { appendFile, rename, rm, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder, PRIVATE_FILE, PRIVATE_FOLDER } from '../files/folders.ts';
import { ConfigError, messageOf } from '../framework/error.ts';
import type { Redecision } from '../redecide/redecision.ts';

export interface ShadowLogOptions {
  /** The folder is made if it is missing; an existing file is continued. */
  readonly path: string;
  /** The most bytes of the file and its predecessors together; `path.1` is the youngest. */
  readonly bytesMax: number;
  /** Called when writing fails, once until it succeeds again. */
  readonly onFailed: (reason: string) => void;
  /** Called when writing succeeds again, with the number of lines that are missing. */
  readonly onResumed?: ((leftOut: number) => void) | undefined;
}

/** With this many files, deleting the oldest removes only a part of the log. */
const FILES = 4;
/** The most that may wait to be written. Beyond it lines are left out and counted. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;

/**
 * Writes JSON Lines to a file that is rotated and that only its owner can read. Requests never wait
 * for it. Lines that cannot be written are left out, and the next that can says how many.
 */
export class ShadowLog {
  readonly #options: ShadowLogOptions;
  readonly #fileBytesMax: number;
  #fileBytes: number;
  #waitingCharacters = 0;
  #leftOut = 0;
  #writing: Promise<void> = Promise.resolve();
  #failed = false;

  /** Throws when the file cannot be opened, and ConfigError for a pipe or a device. */
  constructor(options: ShadowLogOptions) {
    this.#options = options;
    this.#fileBytesMax = Math.max(1, Math.floor(options.bytesMax / FILES));
    makeFolder(dirname(options.path), PRIVATE_FOLDER);
    refuseOtherThanFile(options.path);
    const file = openSync(options.path, 'a', PRIVATE_FILE);
    // An earlier version may have made it for all to read.
    fchmodSync(file, PRIVATE_FILE);
    closeSync(file);
    this.#fileBytes = statSync(options.path).size;
  }

  /** Takes whole lines. */
  readonly write = (lines: string): void => {
    if (lines === '') return;
    if (this.#waitingCharacters > WAITING_CHARACTERS_MAX) {
      this.#leftOut += countLines(lines);
      return;
    }
    this.#waitingCharacters += lines.length;
    this.#writing = this.#writing.then(() => this.#append(lines));
  };

  /** Resolves when everything is written, or writing has failed. */
  close(): Promise<void> {
    return this.#writing;
  }

  async #append(lines: string): Promise<void> {
    const leftOut = this.#leftOut;
    const gap = leftOut > 0 ? `${JSON.stringify({ leftOut })}\n` : '';
    try {
      // A write that failed may have left a part of a line.
      if (this.#failed) await truncateIfThere(this.#options.path, this.#fileBytes);
      const bytes = Buffer.from(gap + lines);
      if (this.#fileBytes > 0 && this.#fileBytes + bytes.length > this.#fileBytesMax) {
        await this.#rotate();
      }
      await appendFile(this.#options.path, bytes, { mode: PRIVATE_FILE });
      this.#fileBytes += bytes.length;
      this.#leftOut -= leftOut;
      if (this.#failed) this.#options.onResumed?.(leftOut);
      this.#failed = false;
    } catch (error) {
      this.#leftOut += countLines(lines);
      if (!this.#failed) {
        this.#options.onFailed(messageOf(error));
      }
      this.#failed = true;
    } finally {
      this.#waitingCharacters -= lines.length;
    }
  }

  async #rotate(): Promise<void> {
    const { path } = this.#options;
    await rm(`${path}.${FILES - 1}`, { force: true });
    for (let age = FILES - 2; age >= 1; age--) await renameIfThere(`${path}.${age}`, age, path);
    await rename(path, `${path}.1`);
    this.#fileBytes = 0;
  }
}

/**
 * Opening a pipe waits for its reader; a device would be made private, and renamed when it is full.
 */
function refuseOtherThanFile(path: string): void {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined || there.isFile() || there.isDirectory()) return;
  const message = `${path} is a pipe or a device, which cannot be rotated; name a file`;
  throw new ConfigError('serve', [{ path: '--shadow-log', message }]);
}

async function renameIfThere(from: string, age: number, path: string): Promise<void> {
  try {
    await rename(from, `${path}.${age + 1}`);
  } catch (error) {
    // The older files do not exist until the log has been rotated often enough.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function countLines(lines: string): number {
  return lines.split('\n').length - 1;
}

async function truncateIfThere(path: string, bytes: number): Promise<void> {
  try {
    await truncate(path, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** A shadow's decision beside the recorded one as a log line. `at` is since the Unix epoch. */
export function decisionLine(
  shadow: string,
  at: number,
  { n, request, was, is, place, ttftMs, explained }: Redecision,
): string {
  const { id, model, objective, promptTokens, streaming } = request;
  const agrees = 'endpoint' in was && 'endpoint' in is && was.endpoint === is.endpoint;
  const head = { at: Math.round(at), shadow, n, id, model, objective, promptTokens, streaming };
  return `${JSON.stringify({ ...head, was, is, agrees, why: explained?.why, place, ttftMs })}\n`;
}
