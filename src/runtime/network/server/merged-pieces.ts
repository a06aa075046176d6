import type { IncomingMessage } from 'node:http';
import { PackedPieces } from '../pieces/packed-pieces.ts';
import { resumeUnlessHeld } from './chunk-pace.ts';

/** Beyond this no more of a body is read until the next piece is taken. */
const WAITING_BYTES_MAX = 64 * 1024;

/**
 * The body of a request. What has come since the last piece is one piece, however small the chunks
 * are in which the client sends it. Throws where the client breaks off.
 */
export async function* mergedPieces(request: IncomingMessage): AsyncGenerator<Buffer> {
  const { socket } = request;
  const waiting = new PackedPieces();
  let over = false;
  let onChange = (): void => undefined;
  // A paused request would keep each further chunk as an object. So its socket is paused, in a
  // later turn, because Node resumes the socket after it has passed on what it has read.
  const pause = (): void => {
    if (waiting.bytes > WAITING_BYTES_MAX && !over) socket.pause();
  };
  const onData = (chunk: Buffer): void => {
    const fitted = waiting.bytes <= WAITING_BYTES_MAX;
    waiting.add(chunk);
    if (fitted && waiting.bytes > WAITING_BYTES_MAX) setImmediate(pause);
    onChange();
  };
  const onOver = (): void => {
    over = true;
    onChange();
  };
  request.on('data', onData).once('end', onOver).once('close', onOver);
  try {
    for (;;) {
      if (waiting.bytes > 0) {
        // Node gives each chunk of one read in a turn of its own for promises.
        await new Promise(setImmediate);
        const piece = waiting.take();
        resumeUnlessHeld(socket);
        yield piece;
      } else if (over) {
        if (!request.complete) throw new Error('the client broke off its request');
        return;
      } else await new Promise<void>((resolve) => (onChange = resolve));
    }
  } finally {
    over = true;
    request.off('data', onData).off('end', onOver).off('close', onOver);
    resumeUnlessHeld(socket);
  }
}
