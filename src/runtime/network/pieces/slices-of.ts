import { joinedPieces } from '../../../framework/values/joined-pieces.ts';

/** As much as a connection keeps by itself before it asks its sender to wait. */
export const SLICE_BYTES: number = 64 * 1024;

/**
 * Bytes in pieces, as slices of at most 64 KiB. Small pieces that follow each other are one slice,
 * since each is sent by itself.
 */
export function* slicesOf(pieces: readonly Buffer[]): Generator<Buffer, undefined> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += SLICE_BYTES) {
      const part = piece.subarray(at, at + SLICE_BYTES);
      if (bytes > 0 && bytes + part.length > SLICE_BYTES) {
        yield joinedPieces(parts);
        parts = [];
        bytes = 0;
      }
      parts.push(part);
      bytes += part.length;
    }
  }
  if (bytes > 0) yield joinedPieces(parts);
}
