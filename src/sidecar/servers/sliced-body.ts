import { Readable } from 'node:stream';

/** As much as a connection keeps by itself before it asks its sender to wait. */
const SLICE_BYTES = 64 * 1024;

/**
 * A body as a stream that gives a slice when its reader has room for one: a server that does not
 * read leaves the bytes here, where they count. `onGone` is called once, when the reader has all of
 * them or wants no more.
 */
export function slicedBody(body: Buffer, onGone: () => void): Readable {
  let rest: Buffer | undefined = body;
  const stream = new Readable({
    highWaterMark: SLICE_BYTES,
    read() {
      const slice = rest?.subarray(0, SLICE_BYTES);
      rest =
        rest !== undefined && rest.length > SLICE_BYTES ? rest.subarray(SLICE_BYTES) : undefined;
      this.push(slice ?? null);
    },
    destroy(error, done) {
      rest = undefined;
      done(error);
    },
  });
  return stream.once('close', onGone);
}
