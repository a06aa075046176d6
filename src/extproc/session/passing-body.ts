import { type BodyEdit, editChunk, touchesChunk } from '../../openai/body-edit.ts';

/** A body that streams past: chunks wait until it is known how they are to be edited, and then go on as they come. */
export class PassingBody {
  #waiting: Uint8Array[] = [];
  #offset = 0;
  #edit: BodyEdit | undefined;

  push(chunk: Uint8Array): void {
    this.#waiting.push(chunk);
  }

  /** From here on this is how it is edited. */
  settle(edit: BodyEdit | undefined): void {
    this.#edit = edit;
  }

  /** Whether a later look at the body wants it edited in the same place. */
  agrees(edit: BodyEdit | undefined): boolean {
    return edit?.start === this.#edit?.start && edit?.end === this.#edit?.end;
  }

  /** For each chunk that waits what it is to be replaced by, undefined where it stays as it is. */
  release(): readonly (readonly Uint8Array[] | undefined)[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting.map((chunk) => this.#replaced(chunk));
  }

  /** Lets go of what waits. */
  drop(): void {
    this.#waiting = [];
  }

  #replaced(chunk: Uint8Array): readonly Uint8Array[] | undefined {
    const offset = this.#offset;
    this.#offset += chunk.length;
    const edit = this.#edit;
    if (edit === undefined || !touchesChunk(edit, chunk, offset)) return undefined;
    return editChunk(edit, chunk, offset);
  }
}
