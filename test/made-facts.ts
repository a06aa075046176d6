import { PRIOR_STEP_TIME } from '../src/cost-model/step-time.ts';
import {
  type AssignmentView,
  assignmentKey,
  type Demand,
  ENGINE_MODEL,
  type EngineModelView,
  IN_FLIGHT,
  type InFlightLoad,
  type InFlightView,
  type LatencyAnchorsView,
  latencyAnchorsKey,
  type MediaMatch,
  MODELS_IN_FLIGHT,
  type ModelsInFlightView,
  mediaMatchKey,
  type PrefixMatch,
  prefixMatchKey,
  reusableTokensKey,
  type StepTime,
  type TopologyView,
  topologyKey,
} from '../src/framework/cycle-facts.ts';

/** What the facts of a made context say. */
export interface FactFields {
  /** Requests in flight by slot; none if omitted. */
  readonly load?: readonly Partial<InFlightLoad>[];
  /** Models of the requests in flight, by slot. */
  readonly models?: readonly ReadonlyMap<string, number>[];
  /** Step time of each endpoint by slot; the prior if omitted. */
  readonly stepTimes?: readonly StepTime[];
  /** Demand in a millisecond by slot; none if omitted. */
  readonly demand?: readonly Partial<Demand>[];
  /** Blocks of the prompt that each endpoint holds, by slot; the match of every producer. */
  readonly matchedBlocks?: readonly number[];
  readonly totalBlocks?: number;
  /** Tokens that need not be computed anywhere; none if omitted. */
  readonly reusableTokens?: number;
}

/** A fact, and the beginning of its key's name: those of all producers of a kind are the same. */
type MadeFact = readonly [beginning: string, value: unknown];

export function factsOf(fields: FactFields): readonly MadeFact[] {
  const match = prefixMatch(fields);
  const media: MediaMatch = { items: match.totalBlocks, matchedItems: match.matchedBlocks };
  return [
    [IN_FLIGHT.name, inFlight(fields)],
    [MODELS_IN_FLIGHT.name, modelsInFlight(fields)],
    [ENGINE_MODEL.name, engineModel(fields)],
    [prefixMatchKey('').name, match],
    [reusableTokensKey('').name, fields.reusableTokens ?? 0],
    [mediaMatchKey('').name, media],
    [topologyKey('').name, TOPOLOGY],
    [assignmentKey('').name, ASSIGNMENT],
    [latencyAnchorsKey('').name, LATENCIES],
  ];
}

function inFlight({ load = [] }: FactFields): InFlightView {
  const none = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
  return { load: ({ slot }) => ({ ...none, ...load[slot] }) };
}

function modelsInFlight({ models }: FactFields): ModelsInFlightView {
  return { models: ({ slot }) => models?.[slot] ?? new Map() };
}

function engineModel({ stepTimes, demand }: FactFields): EngineModelView {
  return {
    stepTime: ({ slot }) => stepTimes?.[slot] ?? PRIOR_STEP_TIME,
    demand: ({ slot }) => ({ requests: 0, workMs: 0, ...demand?.[slot] }),
    demandRate: () => 1,
    expectedOutputTokens: ({ outputTokensMax = 256 }) => Math.min(256, outputTokensMax),
  };
}

function prefixMatch({ matchedBlocks = [], totalBlocks = 10 }: FactFields): PrefixMatch {
  return {
    totalBlocks,
    blockTokens: 64,
    matchedBlocks: ({ slot }) => matchedBlocks[slot] ?? 0,
    reuseRate: () => 0,
  };
}

const TOPOLOGY: TopologyView = {
  placeOf: ({ labels }) =>
    Object.fromEntries(
      ['host', 'rack', 'zone', 'region'].flatMap((level) => {
        const value = labels.get(level);
        return value === undefined ? [] : [[level, value]];
      }),
    ),
};

const LATENCIES: LatencyAnchorsView = {
  anchorsOf: ({ slot }) => ({
    floorMs: 100 + slot,
    low: { ttftMs: 200, requests: 2 },
    typical: { ttftMs: 400, requests: 8 },
    calibrated: true,
  }),
};

/** The class of a request is its model; the label `class` says which class an endpoint serves. */
const ASSIGNMENT: AssignmentView = {
  classOf: ({ model }) => model,
  assigned: ({ labels }) => labels.get('class'),
};
