import { SERVING_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import { readingOfPlan } from '../../../src/catalogue/reading-of-plan.ts';
import { NAMED_CONFIGS } from '../../../src/config/defaults.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { SessionOptions } from '../../../src/extproc/session/session.ts';
import { EARLY_PICK_BYTES } from '../../../src/extproc/session/session-rules.ts';
import type { EndpointId } from '../../../src/framework/endpoint.ts';
import type { Network } from '../../../src/framework/runtime.ts';
import { madeUpPrompt } from '../../../src/lab/replay/made-up-prompt.ts';
import type { RequestResult } from '../../../src/lab/run-summary/run-result.ts';
import type { PoolSpec } from '../../../src/lab/simulate/pool-spec.ts';
import type { Workload } from '../../../src/lab/traces/workload.ts';
import { createOpenBody, headerOnlyRequest } from '../../../src/openai/parsers/open-body.ts';
import { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import { ControlledRouter } from '../../../src/picker/flow-control/controlled-router.ts';
import type { PickerPlan } from '../../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import type { StubReplica } from '../../../stub-server/http/replica/stub-replica.ts';
import { LiveRequest } from './live-request.ts';
import { startVirtualStubs } from './virtual-stubs.ts';
import { VirtualWire } from './virtual-wire.ts';

/** As in simulations. */
const HOP_MS = 0.25;
const BODY_BYTES_MAX = 16 * 1024 * 1024;

export interface LiveOptions {
  readonly workload: Workload;
  /** The text of a pool file. */
  readonly poolFile: string;
  /** The same pool, for the labels of its servers. */
  readonly pool: PoolSpec;
  readonly config: string;
  readonly seed: number;
}

export interface LiveRun {
  readonly requests: readonly RequestResult[];
  readonly replicas: readonly StubReplica[];
}

/**
 * Runs a workload through all that a request passes outside a simulation, under a simulated clock:
 * bodies of text, sessions of ext_proc, scraped pages, and the stub's servers with their streams.
 */
export async function runLive(options: LiveOptions): Promise<LiveRun> {
  const { workload, poolFile, pool, config, seed } = options;
  const clock = new SimulatedClock({ epoch: 1_800_000_000_000 });
  const wire = new VirtualWire(clock);
  const random = seededRandom(seed);
  const replicas = startVirtualStubs(poolFile, { clock, random, wire });
  const plan = loadConfig({
    text: NAMED_CONFIGS.get(config) ?? config,
    source: 'config',
    catalogue: SERVING_CATALOGUE,
  });
  const router = new ControlledRouter({ clock });
  const runtime = { clock, random, network: networkOf(wire, clock) };
  const subscribers = [router.observer];
  const picker = new EndpointPicker({ plan, runtime, subscribers, onFault: fail });
  router.attach(picker);
  router.configure(plan.flowControl);
  replicas.forEach(({ address }, place) => {
    const labels = new Map(Object.entries(pool.servers[place]?.labels ?? {}));
    picker.pool.upsert({ id: address as EndpointId, address, labels });
  });
  const requests: RequestResult[] = [];
  let open = workload.requests.length;
  const shared = { clock, wire, session: sessionOf(plan, router), hopMs: HOP_MS };
  const placeOf = (address: string): number =>
    replicas.findIndex((replica) => replica.address === address);
  const onEnd = (): void => {
    open -= 1;
  };
  for (const [index, request] of workload.requests.entries()) {
    const { blockTokens } = workload;
    const text = madeUpPrompt(request, { blockTokens, salt: 'live', index, templateTokens: 0 });
    const live = new LiveRequest(request, text.toString(), { ...shared, placeOf, onEnd });
    requests.push(live.result);
    clock.setTimer(request.atMs, () => live.start());
  }
  await wire.run(() => open === 0);
  router.stop();
  picker.stop();
  return { requests, replicas };
}

function fail({ error }: { readonly error: unknown }): never {
  throw error;
}

function sessionOf(plan: PickerPlan, router: ControlledRouter): SessionOptions {
  const prompts = readingOfPlan(plan);
  let requests = 0;
  return {
    router,
    openBody: createOpenBody({
      bodyBytesMax: BODY_BYTES_MAX,
      hashSeed: 1,
      parsers: () => plan.parsers ?? [],
      prompts: () => prompts,
    }),
    headerOnly: headerOnlyRequest,
    newRequestId: () => `r${requests++}`,
    earlyPickBytes: EARLY_PICK_BYTES,
    halfCloseAfterPick: false,
    onFault: (error) => fail({ error }),
    onRefused: () => undefined,
  };
}

/** The network over which the picker scrapes. */
function networkOf(wire: VirtualWire, clock: SimulatedClock): Network {
  return {
    get: ({ host, pathname: path }) =>
      new Promise((resolve) => {
        wire.ask(host, { method: 'GET', path }, (answer) => {
          clock.setTimer(HOP_MS, () => resolve(answer));
        });
      }),
  };
}
