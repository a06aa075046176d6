import { once } from 'node:events';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takePieces } from './take-pieces.ts';

/** A socket whose pieces come as a test says. */
function setUp(onTaken: (socket: Duplex) => void = () => undefined) {
  const socket = new Duplex({ read: () => undefined, write: (_piece, _encoding, done) => done() });
  const taken: string[] = [];
  takePieces(socket, (piece) => {
    taken.push(piece.toString());
    onTaken(socket);
  });
  return { socket, taken };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('pieces of a socket', () => {
  it('[P49] are taken as they come where it flows, past its buffer', async () => {
    const { socket, taken } = setUp();
    await turn();
    expect(socket.push(Buffer.from('a'))).toBe(true);
    expect(taken).toEqual(['a']);
    expect(socket.readableDidRead).toBe(false);
  });

  it('[P49] wait while it is paused, and fill its buffer so that nothing more is read', async () => {
    const { socket, taken } = setUp();
    await turn();
    socket.pause();
    const large = Buffer.alloc(socket.readableHighWaterMark, 'x');
    expect(socket.push(large)).toBe(false);
    expect(taken).toEqual([]);
    socket.resume();
    socket.push(Buffer.from('b'));
    await turn();
    expect(taken.join('')).toBe(`${large.toString()}b`);
  });

  it('[P49] are all taken, once and in order, before the end, however it is paused', async () => {
    const step = fc.constantFrom('push', 'pause', 'resume', 'turn');
    const steps = fc.array(step, { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (all, pausesItself) => {
        const { socket, taken } = setUp((each) => {
          if (!pausesItself) return;
          each.pause();
          setImmediate(() => each.resume());
        });
        const pushed: string[] = [];
        for (const each of all) {
          if (each === 'turn') await turn();
          else if (each !== 'push') socket[each]();
          else socket.push(Buffer.from(pushed[pushed.push(`${pushed.length},`) - 1] as string));
        }
        const ended = once(socket, 'end');
        socket.resume();
        socket.push(null);
        await ended;
        expect(taken.join('')).toBe(pushed.join(''));
      }),
      { seed: 851 },
    );
  });
});
