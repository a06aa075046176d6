import { closeSync, openSync, statSync } from 'node:fs';
import { appendFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../../files/folders.ts';
import type { Redecision } from '../redecide/redecision.ts';

export interface ShadowLogOptions {
  /** The folder is made if it is missing; an existing file is continued. */
  readonly path: string;
  /** The most bytes of the file and its predecessors together; `path.1` is the youngest. */
  readonly bytesMax: number;
  /** Called once when writing fails: the log then writes nothing more. */
  readonly onFailed: (reason: string) => void;
}

/** With this many files, deleting the oldest removes only a part of the log. */
const FILES = 4;
/** The most that may wait to be written. Beyond it lines are left out and counted. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Writes JSON Lines to a file that is rotated. Requests never wait for it. */
export class ShadowLog {
  readonly #options: ShadowLogOptions;
  readonly #fileBytesMax: number;
  #fileBytes: number;
  #waitingCharacters = 0;
  #leftOut = 0;
  #writing: Promise<void> = Promise.resolve();
  #failed = false;

  /** Throws when the file cannot be opened. */
  constructor(options: ShadowLogOptions) {
    this.#options = options;
    this.#fileBytesMax = Math.max(1, Math.floor(options.bytesMax / FILES));
    makeFolder(dirname(options.path));
    closeSync(openSync(options.path, 'a'));
    this.#fileBytes = statSync(options.path).size;
  }

  /** Takes whole lines. */
  readonly write = (lines: string): void => {
    if (this.#failed || lines === '') return;
    if (this.#waitingCharacters > WAITING_CHARACTERS_MAX) {
      this.#leftOut += lines.split('\n').length - 1;
      return;
    }
    const gap = this.#leftOut > 0 ? `${JSON.stringify({ leftOut: this.#leftOut })}\n` : '';
    this.#leftOut = 0;
    const text = gap + lines;
    this.#waitingCharacters += text.length;
    this.#writing = this.#writing.then(() => this.#append(text));
  };

  /** Resolves when everything is written, or writing has failed. */
  close(): Promise<void> {
    return this.#writing;
  }

  async #append(text: string): Promise<void> {
    if (this.#failed) return;
    try {
      const bytes = Buffer.from(text);
      if (this.#fileBytes > 0 && this.#fileBytes + bytes.length > this.#fileBytesMax) {
        await this.#rotate();
      }
      await appendFile(this.#options.path, bytes);
      this.#fileBytes += bytes.length;
    } catch (error) {
      this.#failed = true;
      this.#options.onFailed(error instanceof Error ? error.message : String(error));
    } finally {
      this.#waitingCharacters -= text.length;
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

async function renameIfThere(from: string, age: number, path: string): Promise<void> {
  try {
    await rename(from, `${path}.${age + 1}`);
  } catch (error) {
    // The older files do not exist until the log has been rotated often enough.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** A shadow's decision beside the recorded one as a log line. `at` is since the Unix epoch. */
export function decisionLine(
  shadow: string,
  at: number,
  { n, request, was, is, place, ttftMs }: Redecision,
): string {
  const { id, model, objective, promptTokens, streaming } = request;
  const agrees = 'endpoint' in was && 'endpoint' in is && was.endpoint === is.endpoint;
  const head = { at: Math.round(at), shadow, n, id, model, objective, promptTokens, streaming };
  return `${JSON.stringify({ ...head, was, is, agrees, place, ttftMs })}\n`;
}
