import type { Clock, Millis, Timer } from '../../../framework/runtime.ts';
import { Deadline } from '../../../runtime/clock/deadline.ts';

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
  let reads = connection.reads;
  // An answer that came while this process stood still is read first. A limit of 0 would be none.
  const answer = new Deadline(clock, Math.max(1, keepaliveTimeoutMs), () =>
    connection.reads === reads ? onDead() : wait(),
  );
  const wait = (): void => {
    ({ reads } = connection);
    timer = clock.setTimer(keepaliveTimeMs, () => (connection.reads === reads ? ask() : wait()));
  };
  const ask = (): void => {
    connection.ping();
    answer.restart();
  };
  wait();
  return () => {
    timer.cancel();
    answer.stop();
  };
}
