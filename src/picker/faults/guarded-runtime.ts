import type { FaultyPart } from '../../framework/error.ts';
import type { Clock, Network, Runtime } from '../../framework/runtime.ts';
import type { PluginFaults } from './plugin-faults.ts';

/**
 * The runtime for one plugin: what the plugin throws in a timer, or while a message arrives, is
 * counted under its name. Without this, it would end the process.
 */
export function guardedRuntime(
  runtime: Runtime,
  plugin: FaultyPart,
  faults: PluginFaults,
): Runtime {
  const part = {};
  faults.identify(part, plugin);
  const guarded =
    <Args extends readonly unknown[]>(call: string, run: (...args: Args) => void) =>
    (...args: Args): void => {
      try {
        run(...args);
      } catch (error) {
        faults.report(part, call, error);
      }
    };
  return {
    ...runtime,
    clock: guardedClock(runtime.clock, guarded),
    network: guardedNetwork(runtime.network, guarded),
  };
}

type Guard = <Args extends readonly unknown[]>(
  call: string,
  run: (...args: Args) => void,
) => (...args: Args) => void;

function guardedClock(clock: Clock, guarded: Guard): Clock {
  return {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    setTimer: (delay, callback) => clock.setTimer(delay, guarded('timer', callback)),
  };
}

function guardedNetwork(network: Network, guarded: Guard): Network {
  // Methods of a class are not copied with the object.
  const post = network.post?.bind(network);
  const openMessages = network.openMessages?.bind(network);
  const openCall = network.openCall?.bind(network);
  return {
    get: (url, options) => network.get(url, options),
    ...(post && { post }),
    ...(openMessages && {
      openMessages: (options) =>
        openMessages({
          ...options,
          onMessage: guarded('onMessage', options.onMessage),
          ...(options.onConnected && { onConnected: guarded('onConnected', options.onConnected) }),
        }),
    }),
    ...(openCall && {
      openCall: (options) =>
        openCall({
          ...options,
          onMessage: guarded('onMessage', options.onMessage),
          onClosed: guarded('onClosed', options.onClosed),
        }),
    }),
  };
}
