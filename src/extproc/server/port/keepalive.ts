import type { Clock, Millis, Timer } from '../../../framework/runtime.ts';

/** A connection that may be silent. */
interface Watched {
  /** Grows with all that comes. */
  readonly reads: number;
  ping(): void;
}

interface KeepaliveOptions {
  readonly clock: Clock;
  /** A connection that was silent so long is asked for a sign of life; 0 never asks. */
  readonly keepaliveTimeMs: Millis;
  /** One that does not answer within so long is over. */
  readonly keepaliveTimeoutMs: Millis;
}

/** Calls `onDead` where the peer of a connection is gone. Returns a way to stop. */
export function keepAlive(
  connection: Watched,
  { clock, keepaliveTimeMs, keepaliveTimeoutMs }: KeepaliveOptions,
  onDead: () => void,
): () => void {
  if (keepaliveTimeMs === 0) return () => undefined;
  let timer: Timer;
  const wait = (): void => {
    const { reads } = connection;
    timer = clock.setTimer(keepaliveTimeMs, () => (connection.reads === reads ? ask() : wait()));
  };
  const ask = (): void => {
    const { reads } = connection;
    connection.ping();
    timer = clock.setTimer(keepaliveTimeoutMs, () =>
      connection.reads === reads ? onDead() : wait(),
    );
  };
  wait();
  return () => timer.cancel();
}
