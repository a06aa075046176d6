import type { Channel } from '@grpc/grpc-js';
import type { Clock, Millis } from '../../../framework/runtime.ts';
import { Deadline } from '../../clock/deadline.ts';

/** `ConnectivityState` of gRPC, which is loaded only where it is used. */
const [CONNECTING, SHUTDOWN] = [1, 4];

interface StuckOptions {
  readonly clock: Clock;
  readonly limitMs: Millis;
}

/**
 * Calls `onStuck` where the channel connects for longer than `limitMs` without an outcome. An
 * outcome that came while this process stood still is seen first.
 */
export function whenStuck(
  channel: Pick<Channel, 'getConnectivityState' | 'watchConnectivityState'>,
  { clock, limitMs }: StuckOptions,
  onStuck: () => void,
): void {
  const deadline = new Deadline(clock, limitMs, onStuck);
  const follow = (): void => {
    deadline.stop();
    const state: number = channel.getConnectivityState(false);
    if (state === SHUTDOWN) return;
    if (state === CONNECTING) deadline.restart();
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, follow);
  };
  follow();
}
