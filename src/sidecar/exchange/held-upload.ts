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
 * Sends the legs of one request. Its body counts until nobody holds it any more: neither who made
 * this, nor a server that has not read its leg yet. A leg with another body counts as well.
 */
export class HeldUpload implements LegSender {
  readonly #options: HeldOptions;
  /** The first holder is the code that made this object. */
  #holders = 1;

  constructor(options: HeldOptions) {
    this.#options = options;
  }

  /** Rejects with a Refusal where the leg has a body of its own that the budget has no room for. */
  async request(role: UpstreamServer, request: LegRequest): Promise<Dispatcher.ResponseData> {
    const { upload, budget, legs } = this.#options;
    const ownBytes = request.body.buffer === upload.buffer ? 0 : request.body.length;
    if (!budget.take(ownBytes)) throw budgetSpent(budget);
    this.#holders += 1;
    const onBodyGone = (): void => {
      budget.giveBack(ownBytes);
      this.letGo();
    };
    return legs.request(role, { ...request, onBodyGone });
  }

  /** To be called once, by the code that made it. */
  letGo(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.#options.budget.giveBack(this.#options.upload.length);
  }

  /** The end of this answer needs the body, too. */
  holdUntilClosed(answer: Readable): void {
    this.#holders += 1;
    answer.once('close', () => this.letGo());
  }
}
