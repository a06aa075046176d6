import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../src/framework/endpoint-attributes.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import type { Random } from '../../src/framework/runtime.ts';
import { type Decision, scoredOf } from '../../src/framework/scheduling.ts';
import { DecisionRecorder } from '../../src/journal/explain/decision-recorder.ts';
import { type Explanation, explain } from '../../src/journal/explain/explanation.ts';
import { findDecision } from '../../src/journal/explain/find-decision.ts';
import { chainBlockIds } from '../../src/openai/prompts/chain-block-ids.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { JournalSubscriber } from '../../src/picker/events/journal.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeRequest } from '../makers.ts';

export const WITH_FILTERS = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: by-label-selector
  name: zone-a
  parameters: {matchLabels: {zone: a}}
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
- type: predicted-cost-scorer
- type: max-score-picker
  parameters: {maxNumOfEndpoints: 3}
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: zone-a}
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 0.5}
  - {pluginRef: predicted-cost-scorer, weight: 3}
  - {pluginRef: prefix-cache-scorer, weight: 1}
  - {pluginRef: max-score-picker}
`;

/** Refuses requests of low priority while no endpoint has been sampled. */
export const WITH_ADMITTER = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: probabilistic-admitter
- type: queue-scorer
`;

export interface Seen {
  readonly id: string;
  readonly endpoint: string;
  readonly score: number;
  /** As the picker was given them. */
  readonly candidates: ReadonlyMap<string, number>;
  readonly targets: readonly string[];
}

interface RecordedPicker {
  readonly clock: SimulatedClock;
  readonly recorder: DecisionRecorder;
  readonly picker: EndpointPicker;
  readonly add: (name: string, zone?: string) => void;
  /** What the latest decision was, under the id of its request. */
  readonly seen: (id: string) => Seen;
  readonly explained: (id: string) => Explanation | undefined;
  readonly adopt: (config: string) => void;
  /** `change` may be replaced: it changes decisions before they are recorded. */
  readonly decisions: { change: (decision: Decision) => Decision };
}

/** A picker whose decisions are recorded, and seen from outside as well. */
export function recordedPicker(
  config: string,
  limits: { decisionsMax?: number; bytesMax?: number; endpointsMax?: number } = {},
): RecordedPicker {
  const clock = new SimulatedClock();
  const recorder = new DecisionRecorder({ clock, ...limits });
  const planOf = (each: string): PickerPlan =>
    loadConfig({
      text: NAMED_CONFIGS.get(each) ?? each,
      source: 'test',
      catalogue: EMBEDDED_CATALOGUE,
    });
  const latest: Latest = { decision: undefined };
  const network = { get: () => Promise.reject(new Error('no network')) };
  const decisions = { change: (decision: Decision): Decision => decision };
  const picker = new EndpointPicker({
    plan: planOf(config),
    runtime: { clock, random: seededRandom(1), network },
    subscribers: [recordingChanged(recorder, decisions), observing(latest)],
  });
  const add = (name: string, zone = 'a'): void =>
    picker.pool.upsert({
      id: name as EndpointId,
      address: `${name}:8000`,
      labels: new Map([['zone', zone]]),
    });
  const seen = (id: string): Seen => seenOf(id, latest.decision);
  const explained = (id: string): Explanation | undefined => {
    const found = findDecision(recorder.ring.segments(), id);
    return found && explain(found);
  };
  const adopt = (each: string): void => picker.adopt(planOf(each));
  return { clock, recorder, picker, add, seen, explained, adopt, decisions };
}

interface Latest {
  decision: Decision | undefined;
}

function observing(latest: Latest): JournalSubscriber {
  return {
    onDecision: ({ decision }) => {
      latest.decision = decision;
    },
  };
}

function recordingChanged(
  recorder: DecisionRecorder,
  decisions: RecordedPicker['decisions'],
): JournalSubscriber {
  return {
    onDecision: (event) => {
      const decision = event.decision && decisions.change(event.decision);
      recorder.onDecision({ ...event, decision });
    },
    onRouted: (routed) => recorder.onRouted(routed),
    onFirstToken: (routed, at) => recorder.onFirstToken(routed, at),
  };
}

function seenOf(id: string, decision: Decision | undefined): Seen {
  const target = decision?.primary.kind === 'picked' ? decision.primary.targets : [];
  const run = decision?.profiles.at(-1)?.run;
  const candidates = run === undefined ? [] : scoredOf(run);
  return {
    id,
    endpoint: target[0]?.endpoint.id ?? '',
    score: target[0]?.score ?? Number.NaN,
    candidates: new Map(candidates.map(({ endpoint, score }) => [endpoint.id, score])),
    targets: target.map(({ endpoint }) => endpoint.id),
  };
}

/**
 * Traffic with all that changes: samples, tokens, ends, failures, adapters, endpoints that come and
 * go, subsets.
 */
export function drive(
  test: RecordedPicker,
  seed: number,
  requests: number,
  before: (n: number) => void = () => undefined,
): readonly Seen[] {
  const { clock, picker, add, seen } = test;
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random.next() * n);
  const draws = { random, below };
  for (const name of NAMES.slice(0, 9)) add(name, random.next() < 0.7 ? 'a' : 'b');
  add('pod-0', 'a');
  const open: RoutedRequest[] = [];
  return Array.from({ length: requests }, (_, n) => {
    before(n);
    const until = clock.now() + below(40);
    clock.setTimer(until - clock.now(), () => undefined);
    while (clock.step(until));
    changeEndpoint(test, n, draws);
    const request = drawnRequest(n, draws);
    const subset = n % 31 === 30 ? { subset: ['pod-0:8000', 'pod-3:8000', 'pod-5:8000'] } : {};
    open.push(picker.route(request, { firstTokenVisible: true, ...subset }));
    const now = seen(request.id);
    if (open.length > 8) open[below(8)]?.firstToken();
    if (open.length > 16) open.shift()?.done(random.next() < 0.05 ? 'failed' : 'completed');
    return now;
  });
}

const NAMES = Array.from({ length: 12 }, (_, at) => `pod-${at}`);

interface Draws {
  readonly random: Random;
  readonly below: (n: number) => number;
}

/** One has a new sample, and now and then another cache, an adapter, a successor or none. */
function changeEndpoint({ clock, picker, add }: RecordedPicker, n: number, draws: Draws): void {
  const { random, below } = draws;
  const name = NAMES[below(NAMES.length)] as EndpointId;
  picker.pool.observe(name, {
    waitingQueueSize: below(6),
    runningRequests: below(30),
    kvCacheUsage: random.next(),
    sampledAt: clock.now(),
  });
  if (n % 50 === 20)
    picker.pool.set(name, CACHE_CONFIG, { blockTokens: 16, blocks: 500 * below(9) + 500 });
  if (n % 50 === 30) {
    picker.pool.set(name, LORA, { running: new Set(['m1']), waiting: new Set<string>(), max: 1 });
  }
  if (n % 97 === 96 && name !== 'pod-0') picker.pool.remove(name);
  if (n % 83 === 82) add(name, random.next() < 0.7 ? 'a' : 'b');
}

function drawnRequest(n: number, { below }: Draws): InferenceRequest {
  const blocks = below(40);
  const family = below(5);
  const blockIds = Array.from(
    { length: blocks },
    (_, at) => (at < 20 ? family : 100 + n) * 1000 + at,
  );
  return makeRequest({
    id: `own-${n}`,
    model: `m${below(2)}`,
    promptTokens: 64 * blocks + below(64),
    prompt: chainBlockIds(blockIds, { seedText: 'm', blockTokens: 64 }),
    headers: new Map([['x-request-id', `theirs-${n}`]]),
  });
}
