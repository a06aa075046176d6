import type { Channel } from '@grpc/grpc-js';
import type { Clock, Millis, Timer } from '../../../framework/runtime.ts';

/** `ConnectivityState` of gRPC, which is loaded only where it is used. */
const [CONNECTING, SHUTDOWN] = [1, 4];

interface StuckOptions {
  readonly clock: Clock;
  readonly limitMs: Millis;
}

/** Calls `onStuck` once where the channel connects for longer than `limitMs` without an outcome. */
export function whenStuck(
  channel: Pick<Channel, 'getConnectivityState' | 'watchConnectivityState'>,
  { clock, limitMs }: StuckOptions,
  onStuck: () => void,
): void {
  let timer: Timer | undefined;
  const follow = (): void => {
    timer?.cancel();
    const state: number = channel.getConnectivityState(false);
    if (state === SHUTDOWN) return;
    timer = state === CONNECTING ? clock.setTimer(limitMs, onStuck) : undefined;
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, follow);
  };
  follow();
}
