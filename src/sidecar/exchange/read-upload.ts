import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../framework/runtime.ts';
import { Deadline } from '../../runtime/clock/deadline.ts';
import { PackedPieces } from '../../runtime/network/pieces/packed-pieces.ts';
import { TurnsReader } from '../body/read-in-turns.ts';
import { Refusal } from '../body/refusal.ts';
import type { SidecarBounds } from '../options/sidecar-options.ts';

/** The bytes that all open requests hold. */
export class BufferBudget {
  readonly bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False, with nothing taken, if there are not so many left. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** The budget has no room for a body. */
export function budgetSpent({ bytesMax }: BufferBudget): Refusal {
  return new Refusal(503, `the bodies of all requests reach the bound of ${bytesMax} bytes`);
}

interface UploadOptions {
  readonly bounds: SidecarBounds;
  readonly budget: BufferBudget;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Reads a whole request body. What it takes from the budget, the caller gives back: the length of
 * the result. Rejects with a Refusal at the first bound that is passed, or with the signal's
 * reason.
 */
export async function readUpload(
  request: IncomingMessage,
  options: UploadOptions,
): Promise<Buffer> {
  const pieces = await new Promise<readonly Buffer[]>(
    (resolve, reject) => new Upload(request, { ...options, resolve, reject }),
  );
  try {
    return await new TurnsReader(options.signal).joined(pieces);
  } catch (error) {
    options.budget.giveBack(pieces.reduce((sum, { length }) => sum + length, 0));
    throw error;
  }
}

interface Settle {
  readonly resolve: (body: readonly Buffer[]) => void;
  readonly reject: (error: Error) => void;
}

class Upload {
  readonly #request: IncomingMessage;
  readonly #options: UploadOptions & Settle;
  readonly #whole: Deadline;
  readonly #idle: Deadline;
  readonly #body = new PackedPieces();

  constructor(request: IncomingMessage, options: UploadOptions & Settle) {
    const { bounds, clock, signal } = options;
    const { uploadTimeoutMs, clientIdleTimeoutMs } = bounds;
    this.#request = request;
    this.#options = options;
    this.#whole = new Deadline(clock, uploadTimeoutMs, () =>
      this.#fail(new Refusal(408, `the request body did not end within ${uploadTimeoutMs} ms`)),
    );
    this.#idle = new Deadline(clock, clientIdleTimeoutMs, () =>
      this.#fail(new Refusal(408, `the request body stood still for ${clientIdleTimeoutMs} ms`)),
    );
    // An error is followed by the end of the connection, which aborts the signal.
    request.on('error', ignore);
    if (signal.aborted) this.#leave();
    else if (Number(request.headers['content-length'] ?? 0) > bounds.bodyBytesMax) this.#tooLarge();
    else this.#start();
  }

  #start(): void {
    this.#whole.restart();
    this.#idle.restart();
    this.#options.signal.addEventListener('abort', this.#leave);
    this.#request.on('data', this.#onData).on('end', this.#onEnd);
  }

  readonly #onData = (chunk: Buffer): void => {
    const { bounds, budget } = this.#options;
    if (this.#body.bytes + chunk.length > bounds.bodyBytesMax) return this.#tooLarge();
    if (!budget.take(chunk.length)) return this.#fail(budgetSpent(budget));
    this.#body.add(chunk);
    this.#idle.restart();
  };

  readonly #onEnd = (): void => {
    this.#stop();
    this.#options.resolve(this.#body.takePieces());
  };

  readonly #leave = (): void => this.#fail(this.#options.signal.reason as Error);

  #tooLarge(): void {
    const { bodyBytesMax } = this.#options.bounds;
    this.#fail(new Refusal(413, `the request body is larger than ${bodyBytesMax} bytes`));
  }

  #fail(error: Error): void {
    this.#stop();
    this.#request.pause();
    this.#options.budget.giveBack(this.#body.bytes);
    this.#body.drop();
    this.#options.reject(error);
  }

  #stop(): void {
    this.#whole.stop();
    this.#idle.stop();
    this.#options.signal.removeEventListener('abort', this.#leave);
    this.#request.off('data', this.#onData).off('end', this.#onEnd);
  }
}

/** It is no closure, because the request, which keeps it, lives longer than its upload. */
function ignore(): void {}
