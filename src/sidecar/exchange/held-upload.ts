import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { LegRequest, LegSender, UpstreamServer } from '../servers/upstreams.ts';
import { type BufferBudget, budgetSpent } from './read-upload.ts';

interface HeldOptions {
  /** Taken from the budget already. */
  readonly upload: Buffer;
  readonly budget: BufferBudget;
  readonly legs: LegSender;
}

/**
 * Sends the legs of one request. Its body counts in the budget until the code that made this object
 * has released it and each server has read its leg. Bytes that a leg has beside it count as well.
 */
export class HeldUpload implements LegSender {
  readonly #options: HeldOptions;
  #upload: Buffer;
  /** The first holder is the code that made this object. */
  #holders = 1;

  constructor(options: HeldOptions) {
    this.#options = options;
    this.#upload = options.upload;
  }

  /** Rejects with a Refusal where the leg has bytes of its own that the budget has no room for. */
  async request(role: UpstreamServer, request: LegRequest): Promise<Dispatcher.ResponseData> {
    const { budget, legs } = this.#options;
    const own = request.body.filter(({ buffer }) => buffer !== this.#upload.buffer);
    const ownBytes = own.reduce((sum, { length }) => sum + length, 0);
    if (!budget.take(ownBytes)) throw budgetSpent(budget);
    this.#holders += 1;
    const onBodyGone = (): void => {
      budget.giveBack(ownBytes);
      this.letGo();
    };
    return legs.request(role, { ...request, onBodyGone });
  }

  /** From now on the body is kept as these bytes, which are no more. */
  keepInstead(upload: Buffer): void {
    this.#options.budget.giveBack(this.#upload.length - upload.length);
    this.#upload = upload;
  }

  /** To be called once, by the code that made it. */
  letGo(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.#options.budget.giveBack(this.#upload.length);
  }

  /** The end of this answer needs the body, too. */
  holdUntilClosed(answer: Readable): void {
    this.#holders += 1;
    answer.once('close', () => this.letGo());
  }
}
