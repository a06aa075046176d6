import {
  type BodyEdit,
  editChunk,
  newReplacement,
  type Replacement,
  touchesChunk,
} from '../../openai/body/body-edit.ts';

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
