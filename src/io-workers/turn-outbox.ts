import { type Batch, BatchWriter } from './batch.ts';

/** Sends a batch to the other thread, and moves these buffers with it. */
export type SendBatch = (batch: Batch, moved: readonly ArrayBuffer[]) => void;

/** Sends all that one turn writes in one message, whatever the number of its requests. */
export class TurnOutbox {
  readonly #writer = new BatchWriter();
  readonly #send: SendBatch;
  readonly #afterTurn: (task: () => void) => void;
  readonly #flushTurn = (): void => {
    this.#scheduled = false;
    this.flush();
  };
  #scheduled = false;

  /** `afterTurn` runs a task when all that is ready now has been handled: `setImmediate`. */
  constructor(send: SendBatch, afterTurn: (task: () => void) => void) {
    this.#send = send;
    this.#afterTurn = afterTurn;
  }

  /** The writer of this turn: what is written is sent after the turn. */
  get writer(): BatchWriter {
    if (!this.#scheduled) {
      this.#scheduled = true;
      this.#afterTurn(this.#flushTurn);
    }
    return this.#writer;
  }

  /** Sends at once what has been written. */
  flush(): void {
    if (this.#writer.isEmpty) return;
    const { batch, moved } = this.#writer.take();
    this.#send(batch, moved);
  }
}
