import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

export interface SlowProxyOptions {
  /** Each byte arrives so much later, in either direction. */
  readonly latencyMs: number;
  readonly bytesPerSecond: number;
}

/** A proxy to a port of 127.0.0.1, as slow as a bad line. */
export interface SlowProxy {
  readonly port: number;
  stop(): Promise<void>;
}

/** What is on the line; beyond it the sender has to wait. */
const ON_THE_LINE_MAX = 4 * 1024 * 1024;

export async function startSlowProxy(
  targetPort: number,
  options: SlowProxyOptions,
): Promise<SlowProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      passSlowly(from, to, options);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function passSlowly(
  from: Socket,
  to: Socket,
  { latencyMs, bytesPerSecond }: SlowProxyOptions,
): void {
  let freeAt = 0;
  let onTheLine = 0;
  from.on('data', (chunk) => {
    const now = performance.now();
    freeAt = Math.max(now, freeAt) + (1000 * chunk.length) / bytesPerSecond;
    onTheLine += chunk.length;
    if (onTheLine > ON_THE_LINE_MAX) from.pause();
    setTimeout(
      () => {
        onTheLine -= chunk.length;
        if (!to.destroyed) to.write(chunk);
        if (from.isPaused() && onTheLine <= ON_THE_LINE_MAX) from.resume();
      },
      freeAt - now + latencyMs,
    );
  });
}
