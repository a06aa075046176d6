import type { SequenceRequest } from './sequence.ts';

/** Hears what a prefix cache holds and forgets, in order. Folding all calls gives exactly its content. */
export interface BlockSink {
  /**
   * Blocks `first` to `first + count - 1` of the request's chain can now be found. The one before `first` is their
   * parent. A block whose content another block already has is told too, as vLLM does.
   */
  stored(request: SequenceRequest, first: number, count: number): void;
  /** One block of this content is gone; another of the same content may remain. */
  removed(hash: number): void;
  cleared(): void;
}
