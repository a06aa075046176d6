import {
  type BodyEdit,
  editChunk,
  newReplacement,
  type Replacement,
  touchesChunk,
} from '../../openai/body/body-edit.ts';
import type { ByteAccount } from '../streams/byte-account.ts';
import { KeptBody } from '../streams/kept-body.ts';

/**
 * A body that streams past: chunks wait until it is known how to edit them. Nothing of a chunk is
 * kept after that but what an edit takes: the proxy has the body itself.
 */
export class PassingBody {
  readonly #kept: KeptBody;
  /** Lengths of the chunks that wait. */
  #waiting: number[] = [];
  /** Answers for chunks that have come since it was settled. */
  #settled: (readonly Uint8Array[] | undefined)[] = [];
  #isSettled = false;
  #offset = 0;
  #edit: BodyEdit | undefined;

  /** `account` counts the chunks that wait. */
  constructor(account: ByteAccount) {
    this.#kept = new KeptBody(account);
  }

  /** The chunk is valid during this call only. */
  add(chunk: Buffer): void {
    if (this.#isSettled && this.#waiting.length === 0) {
      this.#settled.push(this.#replaced(chunk.length, () => Buffer.from(chunk)));
    } else {
      this.#kept.add(chunk);
      this.#waiting.push(chunk.length);
    }
  }

  /** What comes later is not kept. */
  settle(edit: BodyEdit | undefined): void {
    this.#edit = edit;
    this.#isSettled = true;
  }

  /** What a later look at the body says to replace, too; undefined if it says nothing else. */
  missed(edit: BodyEdit | undefined): Replacement | undefined {
    return newReplacement(this.#edit, edit);
  }

  /** By waiting chunk: what replaces it; undefined leaves it as it is. */
  release(): readonly (readonly Uint8Array[] | undefined)[] {
    const waiting = this.#waiting.map((bytes) => {
      const start = this.#offset;
      return this.#replaced(bytes, () => this.#kept.copy(start, start + bytes));
    });
    this.#waiting = [];
    this.#kept.free();
    const released = [...waiting, ...this.#settled];
    this.#settled = [];
    return released;
  }

  /** The chunks that wait are not counted any more: their answers are sent at once. */
  uncount(): void {
    this.#kept.uncount();
  }

  drop(): void {
    this.#kept.free();
    this.#waiting = [];
    this.#settled = [];
  }

  /** What goes on in place of the next chunk, which has so many bytes. */
  #replaced(bytes: number, copy: () => Buffer): readonly Uint8Array[] | undefined {
    const offset = this.#offset;
    this.#offset += bytes;
    const edit = this.#edit;
    if (edit === undefined || !touchesChunk(edit, bytes, offset)) return undefined;
    return editChunk(edit, copy(), offset);
  }
}
