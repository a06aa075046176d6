import { laterDelayMs, type Traffic, trafficOf } from '../src/cost-model/queueing-delay.ts';
import { decodeStepMs, prefillSteps } from '../src/cost-model/step-time.ts';
import type { Demand, InFlightLoad, StepTime } from '../src/framework/keys.ts';

/** Of KV memory: answers grow as they are written, and beyond this some engine may have to take memory from one. */
const MEMORY_COMFORTABLE = 0.8;
/** What a millisecond that an answer under way is held up by computing a prompt counts, in milliseconds of waiting. */
const HELD_UP_WEIGHT = 0.15;
/** And one that answers take longer because one more is written beside them: only to tell near equals apart. */
const ANSWER_WEIGHT = 0.02;

/** The request, as far as its cost goes. */
export interface Errand {
  readonly promptTokens: number;
  /** Expected of its answer. */
  readonly outputTokens: number;
  /** Times a place's demand, what comes there in a millisecond. */
  readonly demandRate: number;
}

/** An endpoint, as far as the cost of one request there goes. */
export interface Place {
  readonly load: InFlightLoad;
  readonly engine: StepTime;
  readonly demand: Demand;
  readonly cachedTokens: number;
  readonly capacityTokens: number;
  /** KV memory in use, as the engine has last said. */
  readonly heldTokens: number;
  /** Until its adapter has a slot. */
  readonly adapterMs: number;
  /** For having failed of late. */
  readonly suspectMs: number;
  /** Its last sample is too old to go by. */
  readonly stale: boolean;
}

/** What one request costs at one place, in milliseconds of waiting for first tokens: its own, and that of others. */
export interface Bill {
  /** Of any answer's first token. */
  overheadMs: number;
  /** Prompts sent there before that are not computed yet. */
  queuedPrefillMs: number;
  ownPrefillMs: number;
  /** Steps until the first token, with what is decoded in them. */
  stepsMs: number;
  /** Those who come later wait for this prompt, too. */
  laterMs: number;
  /** Answers under way stand still while the prompt is computed. */
  heldUpMs: number;
  /** Answers take longer, the more are written together. */
  answersMs: number;
  /** Until there is KV memory for it. */
  memoryMs: number;
  /** Those who come later wait for the memory that it holds. */
  memoryLaterMs: number;
  adapterMs: number;
  suspectMs: number;
}

/** Fills in the bill, which may have been another's, and gives its sum. */
export function reckon(errand: Errand, place: Place, bill: Bill): number {
  const { load, engine } = place;
  const uncachedTokens = Math.max(0, errand.promptTokens - place.cachedTokens);
  const stepMs = decodeStepMs(load.requests, load.contextTokens, engine);
  const traffic = trafficOf(place.demand, errand.demandRate);
  bill.overheadMs = engine.overheadMs;
  bill.queuedPrefillMs = engine.perPrefillTokenMs * load.pendingPrefillTokens;
  bill.ownPrefillMs = engine.perPrefillTokenMs * uncachedTokens;
  bill.stepsMs = stepMs * prefillSteps(load.pendingPrefillTokens + uncachedTokens, engine);
  bill.laterMs = laterDelayMs(traffic, bill.queuedPrefillMs + stepMs, bill.ownPrefillMs);
  bill.heldUpMs = HELD_UP_WEIGHT * load.requests * bill.ownPrefillMs;
  bill.answersMs = ANSWER_WEIGHT * slowedAnswersMs(errand, place, stepMs);
  reckonMemory(errand, place, { bill, stepMs, uncachedTokens, traffic });
  bill.adapterMs = place.adapterMs;
  bill.suspectMs = place.suspectMs;
  return sumOf(bill);
}

/** Its own answer, and by how much it makes those under way longer. */
function slowedAnswersMs(
  { promptTokens, outputTokens }: Errand,
  { load, engine }: Place,
  stepMs: number,
): number {
  const addedMs = engine.perSequenceMs + engine.perContextTokenMs * promptTokens;
  return outputTokens * (stepMs + load.requests * addedMs);
}

/** Memory as the engine reports it, with all that it has yet to give to those on their way, and to answers as they grow. */
function reckonMemory(
  { outputTokens }: Errand,
  { load, heldTokens, capacityTokens }: Place,
  known: {
    readonly bill: Bill;
    readonly stepMs: number;
    readonly uncachedTokens: number;
    readonly traffic: Traffic;
  },
): void {
  const { bill, stepMs, uncachedTokens, traffic } = known;
  const growthTokens = outputTokens / 2;
  const ownTokens = uncachedTokens + growthTokens;
  const othersTokens = heldTokens + load.pendingPrefillTokens + load.requests * growthTokens;
  const share = (othersTokens + ownTokens) / capacityTokens;
  // All of it is given back in about the time that one answer takes.
  const residenceMs = outputTokens * stepMs;
  bill.memoryMs = residenceMs * Math.max(0, share - MEMORY_COMFORTABLE);
  // Those in memory stay the longer for the time in which this prompt is computed.
  const occupiedMs = (ownTokens / capacityTokens) * residenceMs + share * bill.ownPrefillMs;
  bill.memoryLaterMs =
    bill.memoryMs === 0
      ? 0
      : laterDelayMs({ ...traffic, utilization: share }, bill.memoryMs, occupiedMs);
}

function sumOf(bill: Bill): number {
  return (
    bill.overheadMs +
    bill.queuedPrefillMs +
    bill.ownPrefillMs +
    bill.stepsMs +
    bill.laterMs +
    bill.heldUpMs +
    bill.answersMs +
    bill.memoryMs +
    bill.memoryLaterMs +
    bill.adapterMs +
    bill.suspectMs
  );
}

export function emptyBill(): Bill {
  return {
    overheadMs: 0,
    queuedPrefillMs: 0,
    ownPrefillMs: 0,
    stepsMs: 0,
    laterMs: 0,
    heldUpMs: 0,
    answersMs: 0,
    memoryMs: 0,
    memoryLaterMs: 0,
    adapterMs: 0,
    suspectMs: 0,
  };
}
