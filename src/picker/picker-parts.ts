import { ConcurrencyLimit } from './capacity/concurrency-limit.ts';
import { CachedCounts } from './cycles/cached-counts.ts';
import { CandidateRules } from './cycles/candidates.ts';
import { Ejector } from './ejection/ejector.ts';
import type { EndpointPickerOptions } from './endpoint-picker-options.ts';
import { EngineModel } from './engine-model/engine-model.ts';
import { EventClock } from './events/event-clock.ts';
import { Journal } from './events/journal.ts';
import { PluginFaults } from './faults/plugin-faults.ts';
import { KeptMemory } from './load/kept-memory.ts';
import { Ledger } from './load/ledger.ts';
import { LostRequests } from './load/lost-requests.ts';
import { OpenReservations } from './load/open-reservations.ts';
import { RunningBounds } from './load/running-bounds.ts';
import { EndpointPool } from './pool/endpoint-pool.ts';

/** The state of a picker, without the parts that decide and those that let requests wait. */
export interface PickerParts {
  readonly pool: EndpointPool;
  /** What has failed so far. */
  readonly faults: PluginFaults;
  readonly journal: Journal;
  readonly clock: EventClock;
  readonly ledger: Ledger;
  /** How many requests may be in flight at each endpoint. */
  readonly limit: ConcurrencyLimit;
  readonly ejector: Ejector;
  readonly engineModel: EngineModel;
  readonly candidates: CandidateRules;
  /** The requests in flight, where they have a maximum age. */
  readonly open: OpenReservations | undefined;
  readonly cachedCounts: CachedCounts;
}

/** `owner` is the picker: timers that fail are reported as its. */
export function pickerParts(options: EndpointPickerOptions, owner: object): PickerParts {
  const { plan, runtime, subscribers = [], onFault, onEjection, reservations } = options;
  const faults = new PluginFaults({ now: () => runtime.clock.now(), onFault });
  const journal = new Journal(subscribers, faults);
  const pool = new EndpointPool(faults);
  const clock = new EventClock(
    runtime.clock,
    (timer, at) => journal.timerFired(timer, at),
    (error) => faults.report(owner, 'timer', error),
  );
  const ledger = new Ledger();
  const limit = new ConcurrencyLimit(ledger);
  limit.configure(plan.capacity);
  const ejector = new Ejector({ pool, onChange: onEjection });
  ejector.configure(plan.ejection);
  const open = reservations && new OpenReservations({ ...reservations, clock: runtime.clock });
  const engineModel = new EngineModel();
  const lost = new LostRequests({ pool, ledger });
  const memory = new KeptMemory({ pool, ledger });
  const bounds = new RunningBounds({ pool, ledger, engineModel });
  const candidates = new CandidateRules(ejector, limit, [lost, memory, bounds]);
  const cachedCounts = new CachedCounts();
  pool.observeEndpoints(cachedCounts);
  const load = { ledger, limit, open, engineModel };
  return { pool, faults, journal, clock, ejector, candidates, cachedCounts, ...load };
}
