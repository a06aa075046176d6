import type { Duplex } from 'node:stream';

/**
 * Calls `take` for each piece that comes. On its way to `data` a piece passes the stream's buffer,
 * and Node asks in a task after it whether to read on: for short pieces a tenth of all that is done
 * with them. A stream that flows and has nothing in its buffer needs neither. Where Node does not
 * bring pieces by `push`, they come as `data` all the same.
 */
export function takePieces(socket: Duplex, take: (piece: Buffer) => void): void {
  const push = socket.push.bind(socket);
  socket.push = (piece: Buffer | null): boolean => {
    const passes = socket.readableFlowing === true && socket.readableLength === 0;
    if (piece === null || !passes) return push(piece);
    take(piece);
    return true;
  };
  socket.on('data', take);
}
