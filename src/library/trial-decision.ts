import type { EndpointId } from '../framework/endpoint.ts';
import { type PluginFault, RoutingError } from '../framework/error.ts';
import { ROLE_LABEL } from '../framework/roles.ts';
import type { PickerPlan, PlannedPlugin } from '../picker/plan/picker-plan.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { randomSecret } from '../runtime/random-seed.ts';
import { withoutNetwork } from './create-picker.ts';
import { requestReader } from './request-reader.ts';
import { startCore } from './start-core.ts';

/** Two endpoints, because a faulty scorer may return a score for one alone. */
const ENDPOINTS = ['trial-1:8000', 'trial-2:8000'] as unknown as readonly EndpointId[];
/** The label of a server that serves each stage, so that filters by role leave it. */
const LABELS: ReadonlyMap<string, string> = new Map([[ROLE_LABEL, 'encode-prefill-decode']]);
const REQUEST = { model: 'trial', promptTokens: 200, blockIds: [1, 2, 3], outputTokensMax: 10 };

/**
 * Decides one request between two idle endpoints, and has it answered, in simulated time and without
 * network: a scheduler of the plan must run in this process. Returns what failed in plugins. Throws
 * what making the plugins throws, such as ConfigError, and what a data source throws that needs a
 * network to start.
 */
export function trialDecision(plan: PickerPlan): readonly PluginFault[] {
  const faults: PluginFault[] = [];
  const clock = new SimulatedClock();
  const secret = randomSecret();
  const { picker, router } = startCore({
    plan: { ...plan, plugins: plan.plugins.map(unscraped) },
    seed: 0,
    clock,
    observers: [],
    onFault: (fault) => void faults.push(fault),
    replica: undefined,
    secret,
  });
  try {
    for (const id of ENDPOINTS) {
      picker.pool.upsert({ id, address: id, labels: LABELS });
      const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
      picker.pool.observe(id, { ...idle, sampledAt: clock.now() });
    }
    const routed = picker.route(requestReader(plan, secret)(REQUEST));
    routed.firstToken();
    routed.done('completed');
  } catch (error) {
    // A configuration may take no such endpoint, or no such request.
    if (!(error instanceof RoutingError)) throw error;
  } finally {
    router.stop();
    picker.stop();
  }
  return faults;
}

function unscraped(plugin: PlannedPlugin): PlannedPlugin {
  return plugin.kind === 'source'
    ? { ...plugin, definition: withoutNetwork(plugin.definition) }
    : plugin;
}
