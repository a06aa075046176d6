import { Readable } from 'node:stream';
import { SLICE_BYTES, slicesOf } from '../../runtime/network/pieces/slices-of.ts';

/**
 * A body as a stream that gives a slice when its reader has room for one: a server that does not
 * read leaves the bytes here, where they count. `onGone` is called once, when the reader has all of
 * them or wants no more.
 */
export function slicedBody(body: readonly Buffer[], onGone: () => void): Readable {
  let slices: Generator<Buffer, undefined> | undefined = slicesOf(body);
  const stream = new Readable({
    highWaterMark: SLICE_BYTES,
    read() {
      this.push(slices?.next().value ?? null);
    },
    destroy(error, done) {
      slices = undefined;
      done(error);
    },
  });
  return stream.once('close', onGone);
}
