import {
  type BodyEdit,
  editChunk,
  newReplacement,
  type Replacement,
  touchesChunk,
} from '../../openai/body/body-edit.ts';
import { freeChunk } from '../streams/byte-account.ts';

/**
 * A body that streams past: chunks wait until it is known how to edit them. Their memory is freed
 * with the answer to them, unless an edit takes parts of it: the proxy has the body itself, and
 * nothing else keeps chunks.
 */
export class PassingBody {
  #waiting: Buffer[] = [];
  #offset = 0;
  #edit: BodyEdit | undefined;

  push(chunk: Buffer): void {
    this.#waiting.push(chunk);
  }

  settle(edit: BodyEdit | undefined): void {
    this.#edit = edit;
  }

  /** What a later look at the body wants replaced besides; undefined if it agrees. */
  missed(edit: BodyEdit | undefined): Replacement | undefined {
    return newReplacement(this.#edit, edit);
  }

  /** By waiting chunk: what replaces it; undefined leaves it as it is. */
  release(): readonly (readonly Uint8Array[] | undefined)[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting.map((chunk) => this.#replaced(chunk));
  }

  drop(): void {
    for (const chunk of this.#waiting) freeChunk(chunk);
    this.#waiting = [];
  }

  #replaced(chunk: Buffer): readonly Uint8Array[] | undefined {
    const offset = this.#offset;
    this.#offset += chunk.length;
    const edit = this.#edit;
    if (edit !== undefined && touchesChunk(edit, chunk, offset)) {
      return editChunk(edit, chunk, offset);
    }
    freeChunk(chunk);
    return undefined;
  }
}
