import { type BodyEdit, editChunk, touchesChunk } from '../../openai/body-edit.ts';

/** A body that streams past: chunks wait until it is known how to edit them. */
export class PassingBody {
  #waiting: Uint8Array[] = [];
  #offset = 0;
  #edit: BodyEdit | undefined;

  push(chunk: Uint8Array): void {
    this.#waiting.push(chunk);
  }

  settle(edit: BodyEdit | undefined): void {
    this.#edit = edit;
  }

  /** Whether a later look at the body wants it edited in the same place. */
  agrees(edit: BodyEdit | undefined): boolean {
    return edit?.start === this.#edit?.start && edit?.end === this.#edit?.end;
  }

  /** By waiting chunk: what replaces it; undefined leaves it as it is. */
  release(): readonly (readonly Uint8Array[] | undefined)[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting.map((chunk) => this.#replaced(chunk));
  }

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
