import { Readable } from 'node:stream';

/** As much as a connection keeps by itself before it asks its sender to wait. */
const SLICE_BYTES = 64 * 1024;

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

/** Small pieces that follow each other are one slice, since each is sent by itself. */
function* slicesOf(body: readonly Buffer[]): Generator<Buffer, undefined> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for (const piece of body) {
    for (let at = 0; at < piece.length; at += SLICE_BYTES) {
      const part = piece.subarray(at, at + SLICE_BYTES);
      if (bytes > 0 && bytes + part.length > SLICE_BYTES) {
        yield oneOf(parts);
        parts = [];
        bytes = 0;
      }
      parts.push(part);
      bytes += part.length;
    }
  }
  if (bytes > 0) yield oneOf(parts);
}

function oneOf(parts: readonly Buffer[]): Buffer {
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
}
