import type { Readable } from 'node:stream';
import { PackedPieces } from '../../runtime/network/pieces/packed-pieces.ts';

/** The body of an answer in one piece. Rejects where it breaks off or is longer than `bytesMax`. */
export async function readWhole(body: Readable, bytesMax: number): Promise<Buffer> {
  const read = new PackedPieces();
  for await (const chunk of body as AsyncIterable<Buffer>) {
    read.add(chunk);
    if (read.bytes > bytesMax) throw new Error(`answered more than ${bytesMax} bytes`);
  }
  return read.take();
}
