import type { Dispatcher } from 'undici';
import { PieceLimit } from '../../../../runtime/network/pieces/piece-limit.ts';
import { ApiContentError } from './kubernetes-error.ts';

/** Breaks off answers that come in pieces of a few bytes each. */
export function boundedAnswers(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) => dispatch(options, new BoundedAnswer(handler));
}

class BoundedAnswer implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #pieces = new PieceLimit();

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(...answer: Parameters<Required<Dispatcher.DispatchHandler>['onResponseStart']>) {
    this.#handler.onResponseStart?.(...answer);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    const pieces = this.#pieces.exceededBy(piece.length);
    if (pieces === undefined) this.#handler.onResponseData?.(controller, piece);
    else {
      controller.abort(new ApiContentError(`an answer in ${pieces} pieces of a few bytes each`));
    }
  }

  onResponseEnd(...end: Parameters<Required<Dispatcher.DispatchHandler>['onResponseEnd']>): void {
    this.#handler.onResponseEnd?.(...end);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#handler.onResponseError?.(controller, error);
  }
}
