import type { PluginFault } from '../framework/error.ts';
import type { Observer, RequestObserver } from '../framework/observer.ts';
import type { Clock, Runtime } from '../framework/runtime.ts';
import type { EjectionChange } from './ejection/ejector.ts';
import type { JournalSubscriber } from './events/journal.ts';
import type { OpenReservationsOptions } from './load/open-reservations.ts';
import type { PluginWrap } from './plan/instantiate.ts';
import type { PickerPlan } from './plan/picker-plan.ts';

export interface EndpointPickerOptions {
  readonly plan: PickerPlan;
  readonly runtime: Runtime;
  /** They receive everything that happens, in order, before the plugins. */
  readonly subscribers?: readonly JournalSubscriber[];
  /**
   * Throws where these plugin instances cannot be used, such as ConfigError: then their plan is not
   * adopted. Called before they decide anything.
   */
  readonly checkPlugins?: (plugins: readonly Observer[]) => void;
  /** Observers of the requests of other replicas; each is called after the plugins. */
  readonly elsewhereObservers?: readonly RequestObserver[];
  /** Wraps each plugin where it is used, to measure it. */
  readonly wrapPlugin?: PluginWrap;
  /** Measures scheduling and waiting times; without it nothing is measured. */
  readonly stopwatch?: Pick<Clock, 'now'>;
  /** The real runtime for schedulers in other processes, where `runtime` is not real. */
  readonly schedulerRuntime?: Runtime;
  /** Releases reservations that are still open at an age; without it they are kept. */
  readonly reservations?: Omit<OpenReservationsOptions, 'clock'> | undefined;
  /** Called when an endpoint is ejected, and when it is back. */
  readonly onEjection?: ((change: EjectionChange) => void) | undefined;
  /**
   * Called for the first failure of each call of each plugin and observer, and then at most once a
   * minute. A failure costs no request: the plugin is left out where it failed.
   */
  readonly onFault?: ((fault: PluginFault) => void) | undefined;
}

/** The options while the picker runs: plugins get the clock of events. */
export interface RunningOptions extends EndpointPickerOptions {
  /** Sets timers that captures do not number. */
  readonly timers: Clock;
}

/** The options with the clock of events in place of the real one. */
export function withClock(options: EndpointPickerOptions, clock: Clock): RunningOptions {
  const { runtime } = options;
  return { ...options, timers: runtime.clock, runtime: { ...runtime, clock } };
}
