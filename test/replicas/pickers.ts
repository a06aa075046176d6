import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import type { Clock } from '../../src/framework/runtime.ts';
import type { Headroom } from '../../src/journal/headroom/headroom.ts';
import { withoutNetwork } from '../../src/library/create-picker.ts';
import { chainBlockIds } from '../../src/openai/prompts/chain-block-ids.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { ControlledRouter } from '../../src/picker/flow-control/controlled-router.ts';
import type { OpenReplicaLink } from '../../src/replicas/links/link.ts';
import type { ReplicaNotice } from '../../src/replicas/peers/peer-status.ts';
import { Replica } from '../../src/replicas/replica.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { createHeadroom } from '../../src/serve/autoscaling/start-autoscaling.ts';
import { servingPlan } from '../../src/serve/picker/serving-plan.ts';
import { makeRequest } from '../makers.ts';

/** A picker that shares, without a server. */
export interface SharedPicker {
  readonly picker: EndpointPicker;
  readonly replica: Replica;
  readonly notices: readonly ReplicaNotice[];
  /** As in `serve`. */
  readonly headroom: Headroom;
  /** Requests in flight at each endpoint, in the order of the pool. */
  loads(): readonly number[];
  pendingTokens(): number;
  route(blockIds?: readonly number[]): RoutedRequest;
  stop(): Promise<void>;
}

const dataSources = EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork);
const loaded = loadConfig({
  text: NAMED_CONFIGS.get('default') ?? '',
  source: 'default',
  catalogue: { ...EMBEDDED_CATALOGUE, dataSources },
});
/** Ejection as `serve` has it. */
const plan = servingPlan(loaded);
const network = { get: () => Promise.reject(new Error('no network')) };

export const blocksOf = (count: number, from = 0): readonly number[] =>
  Array.from({ length: count }, (_, index) => from + index);

export function requestOf(id: string, blockIds: readonly number[]): InferenceRequest {
  const prompt = chainBlockIds(blockIds, { seedText: 'm', blockTokens: 64 });
  return makeRequest({ id, model: 'm', promptTokens: 64 * blockIds.length + 10, prompt });
}

export function startPicker(
  id: string,
  {
    clock,
    openLink,
    endpoints = 4,
    boot = 1,
  }: {
    readonly clock: Clock;
    readonly openLink: OpenReplicaLink;
    readonly endpoints?: number;
    readonly boot?: number;
  },
): SharedPicker {
  const notices: ReplicaNotice[] = [];
  const onNotice = (notice: ReplicaNotice): void => void notices.push(notice);
  const replica = new Replica({ id, boot, clock, openLink, onNotice });
  const random = seededRandom(boot + id.length);
  const runtime = { clock, random, network };
  const router = new ControlledRouter({ clock });
  const headroom = createHeadroom({}, clock, plan, () => ({ picker, router, replica }));
  const picker: EndpointPicker = new EndpointPicker({
    plan,
    runtime,
    subscribers: [replica.subscriber, headroom],
    elsewhereObservers: [headroom.elsewhereObserver],
  });
  for (let n = 0; n < endpoints; n++) {
    const address = `10.0.0.${n}:8000`;
    picker.pool.upsert({ id: address as EndpointId, address, labels: new Map() });
  }
  replica.start(picker);
  let requests = 0;
  const loads = (): readonly number[] =>
    picker.pool.snapshot().map((endpoint) => picker.ledger.load(endpoint).requests);
  return {
    picker,
    replica,
    notices,
    headroom,
    loads,
    pendingTokens: () =>
      picker.pool
        .snapshot()
        .reduce((sum, each) => sum + picker.ledger.load(each).pendingPrefillTokens, 0),
    route: (blockIds = []) =>
      picker.route(requestOf(`${id}-${requests++}`, blockIds), { firstTokenVisible: true }),
    stop: async () => {
      await replica.stop();
      picker.stop();
    },
  };
}
