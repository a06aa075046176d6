import { closeSync, openSync, statSync } from 'node:fs';
import { appendFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../../files/folders.ts';
import type { Redecision } from '../redecide/redecision.ts';

export interface ShadowLogOptions {
  /** The folder is made if it is not there; what is in the file is kept. */
  readonly path: string;
  /** Of the file and its `FILES - 1` predecessors, `path.1` the youngest, together. */
  readonly bytesMax: number;
  /** Once, when nothing can be written any more: the log has ended, and nothing else. */
  readonly onFailed: (reason: string) => void;
}

/** So that letting go of the oldest takes no great part. */
const FILES = 4;
/** What may wait to be written; beyond it lines are counted and left out. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;

/** JSON Lines in a file that is rotated, written off the path of requests. */
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

  /** Whole lines. */
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

  /** Resolves when all that was written is in the file, or could not be. */
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
    // Younger ones are made before older ones are.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** One decision of a shadow beside what was done, as a line of the log. `at` in milliseconds since the Unix epoch. */
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
