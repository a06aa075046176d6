import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import type { PluginCatalogue } from '../../src/framework/plugin.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import type { Millis, Timer } from '../../src/framework/runtime.ts';
import { withoutNetwork } from '../../src/library/create-picker.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { DecisionEvent } from '../../src/picker/events/journal.ts';
import { DEFAULT_HOLD, type HoldPlan } from '../../src/picker/plan/hold-plan.ts';
import type { PluginWrap } from '../../src/picker/plan/instantiate.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { makeRequest, makeRuntime } from '../makers.ts';

const LONG = 20_000;
/** Nothing is scraped, so that no other timers are set. */
const OFFLINE: PluginCatalogue = {
  ...EMBEDDED_CATALOGUE,
  dataSources: EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork),
};
const DEFAULT_CONFIG: string = NAMED_CONFIGS.get('default') ?? '';

/** Counts the timers that are set and have neither fired nor been cancelled. */
export class CountingClock extends SimulatedClock {
  timers = 0;
  set = 0;

  override setTimer(delay: Millis, callback: () => void): Timer {
    let isSet = true;
    const end = (): void => {
      if (isSet) this.timers -= 1;
      isSet = false;
    };
    this.timers += 1;
    this.set += 1;
    if (this.set > 1000) throw new Error('timers are set again and again');
    const timer = super.setTimer(delay, () => {
      end();
      callback();
    });
    return {
      cancel: () => {
        end();
        timer.cancel();
      },
    };
  }
}

export interface World {
  readonly picker: EndpointPicker;
  readonly clock: CountingClock;
  readonly decided: DecisionEvent[];
  /** Ids in the order in which they were placed, `!` before those that were refused. */
  readonly order: string[];
  readonly routed: Map<string, RoutedRequest>;
  /** Picks of the scheduler so far: one for each decision, also for those of waiting requests. */
  readonly picks: () => number;
  /** Whether the request was placed in the call. */
  send(fields: Partial<InferenceRequest> & { readonly id: string }): boolean;
  readonly cancel: (id: string) => void;
  /** The requests that left while they waited, with how long they had. */
  readonly left: readonly (readonly [string, Millis])[];
}

/** The default policy, with another `hold`. */
export function planOf(hold: Partial<HoldPlan>): PickerPlan {
  const plan = loadConfig({ text: DEFAULT_CONFIG, source: 'test', catalogue: OFFLINE });
  return { ...plan, hold: { ...DEFAULT_HOLD, ...hold } };
}

export function worldOf(endpoints: number, hold: Partial<HoldPlan> = {}): World {
  const clock = new CountingClock();
  const decided: DecisionEvent[] = [];
  const left: [string, Millis][] = [];
  const picks = { count: 0 };
  const picker = new EndpointPicker({
    plan: planOf(hold),
    runtime: { ...makeRuntime(), clock },
    subscribers: [
      {
        onDecision: (event) => void decided.push(event),
        onLeft: ({ id }, waitedMs) => void left.push([id, waitedMs]),
      },
    ],
    wrapPlugin: countingPicks(picks),
  });
  for (let n = 0; n < endpoints; n++) addEndpoint(picker, n);
  const order: string[] = [];
  const routed = new Map<string, RoutedRequest>();
  const placements = new Map<string, Parameters<EndpointPicker['cancel']>[0]>();
  const placed = (each: RoutedRequest): void => {
    order.push(each.request.id);
    routed.set(each.request.id, each);
  };
  return {
    picker,
    clock,
    decided,
    left,
    order,
    routed,
    picks: () => picks.count,
    send: (fields) => {
      const request = makeRequest({ promptTokens: LONG, ...fields });
      const refused = (): void => void order.push(`!${request.id}`);
      const placement = { placed, refused };
      placements.set(request.id, placement);
      const seen = { firstTokenVisible: true };
      const now =
        picker.enqueue === undefined
          ? picker.route(request, seen)
          : picker.enqueue(request, seen, placement);
      if (now !== undefined) placed(now);
      return now !== undefined;
    },
    cancel: (id) => {
      const placement = placements.get(id);
      if (placement !== undefined) picker.cancel(placement);
    },
  };
}

function countingPicks(picks: { count: number }): PluginWrap {
  return {
    filter: (_plugin, filter) => filter,
    scorer: (_plugin, scorer) => scorer,
    picker: (_plugin, picker) => ({
      pick: (...given) => {
        picks.count += 1;
        return picker.pick(...given);
      },
    }),
  };
}

const idOf = (n: number): EndpointId => `e${n}` as EndpointId;

export function addEndpoint(picker: EndpointPicker, n: number): void {
  picker.pool.upsert({ id: idOf(n), address: `10.0.0.${n}:80`, labels: new Map() });
}

export function sample(world: World, n: number, waitingQueueSize = 0): void {
  const metrics = { waitingQueueSize, runningRequests: 1, kvCacheUsage: 0 };
  world.picker.pool.observe(idOf(n), { ...metrics, sampledAt: world.clock.now() });
}
