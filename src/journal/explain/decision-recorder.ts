import type { Endpoint } from '../../framework/endpoint.ts';
import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { Decision } from '../../framework/scheduling.ts';
import type { DecisionEvent, JournalSubscriber } from '../../picker/events/journal.ts';
import { DecisionRing } from './decision-ring.ts';
import { LastFlowStays } from './last-flow-stays.ts';
import { LastRefusals } from './last-refusals.ts';
import { LatestAnswers } from './latest-answers.ts';
import { EndingWriter } from './record-ending.ts';
import { HEAD, NO_SLOT, SCORE } from './record-format.ts';
import { HeadWriter } from './record-head.ts';
import { LastRequestTimes } from './request-times.ts';
import { RunWriter } from './run-writer.ts';
import { SlotBuffer } from './slot-list.ts';

interface RecorderOptions {
  readonly clock: Clock;
  /** At least so many of the last decisions are kept, unless they take more than `bytesMax`. */
  readonly decisionsMax?: number;
  readonly bytesMax?: number;
  /** In larger pools only the scores of the 16 best endpoints and of the targets are kept. */
  readonly endpointsMax?: number | undefined;
}

/** So many of the last decisions can be explained, where nothing else is asked for. */
export const DECISIONS_MAX = 100_000;
const BYTES_MAX = 256 * 1024 * 1024;
/** Up to here it takes less time to keep all than to find the best. */
export const ENDPOINTS_MAX = 64;
const NO_PROFILES: Decision['profiles'] = [];

/**
 * Keeps the last decisions in memory, so that they can be explained: the candidates, what each
 * filter dropped, the scores of the best endpoints, the targets, and the terms of the scores of
 * pick and runner-up. They are kept as bytes, as `record-format.ts` has it: nothing that a garbage
 * collector has to follow. Decisions over 65,535 endpoints and more are not kept.
 */
export class DecisionRecorder implements JournalSubscriber {
  readonly ring: DecisionRing;
  readonly times: LastRequestTimes = new LastRequestTimes();
  readonly answers: LatestAnswers = new LatestAnswers();
  /** What flow control kept or refused. */
  readonly stays: LastFlowStays;
  readonly refusals: LastRefusals;
  readonly #clock: Clock;
  readonly #wallOffsetMs: () => Millis;
  readonly #runs: RunWriter;
  readonly #list = new SlotBuffer();
  /** The candidates of the last decision. */
  #candidates: Endpoint[] = [];
  /** The numbers of decisions as a whole that were written last. */
  readonly #last = new Float64Array(HEAD.count + SCORE.count);
  readonly #head: HeadWriter;
  readonly #ending: EndingWriter;

  constructor(options: RecorderOptions) {
    const { clock, decisionsMax = DECISIONS_MAX, bytesMax = BYTES_MAX } = options;
    this.ring = new DecisionRing({ decisionsMax, bytesMax });
    this.#clock = clock;
    this.stays = new LastFlowStays(clock);
    this.refusals = new LastRefusals(clock);
    this.#wallOffsetMs = (): Millis => clock.wallTime() - clock.now();
    this.#head = new HeadWriter(this.ring.log, this.#last);
    this.#ending = new EndingWriter(this.ring.log, this.#last);
    this.#runs = new RunWriter(this.ring, options.endpointsMax ?? ENDPOINTS_MAX);
  }

  /** Milliseconds since the epoch. */
  wallMs(): Millis {
    return this.#clock.wallTime();
  }

  onRouted(routed: Routed): void {
    this.times.onRouted(routed);
    this.answers.onRouted(routed);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    this.times.onFirstToken(routed, at);
  }

  onServed(routed: Routed, address: string): void {
    this.answers.onServed(routed, address);
  }

  onEnded(
    routed: Routed,
    at: Millis,
    outcome: Outcome,
    _usage: Usage | undefined,
    _responseBytes?: number,
    status?: number,
  ): void {
    this.answers.onEnded(routed, at, outcome, status);
  }

  onDecision(event: DecisionEvent): void {
    const { candidates, decision } = event;
    // A slot is written in two bytes.
    if (candidates.length >= NO_SLOT) return;
    const profiles = decision?.profiles ?? NO_PROFILES;
    // This comes before `begin`: a new name for a slot ends the segment, and another begins in
    // full.
    const sameList = this.#noteCandidates(candidates);
    const primary = decision?.primary;
    // The fallbacks of a trial are no candidates, and may never have been any.
    if (primary?.kind === 'picked' && primary.targets.length > candidates.length) {
      for (const { endpoint } of primary.targets) this.ring.name(endpoint);
    }
    const layout = this.#runs.layoutFor(profiles.length);
    const inFull = this.ring.begin(layout, this.#wallOffsetMs);
    if (inFull) this.#last.fill(Number.NaN);
    this.#head.write(event, { list: this.#list, sameList, inFull });
    for (const result of profiles) {
      const targets = result.kind === 'picked' ? result.targets : [];
      if (result.run !== undefined) this.#runs.write(result.run, targets, this.#list);
    }
    const run = decision?.primary.run;
    this.#ending.write(event, run && this.#runs.numberOf(run.profile));
    this.ring.end(this.#head.idHash, this.#head.requestIdHash);
  }

  /** Returns whether they are the same endpoints as before. */
  #noteCandidates(endpoints: readonly Endpoint[]): boolean {
    const last = this.#candidates;
    let same = endpoints.length === last.length;
    for (let index = 0; same && index < endpoints.length; index++) {
      const endpoint = endpoints[index] as Endpoint;
      // Few endpoints have a new sample since the last decision; the others are the same object.
      if (endpoint === last[index]) continue;
      same = isSameEndpoint(endpoint, last[index]);
      last[index] = endpoint;
    }
    if (same) return true;
    this.#candidates = [...endpoints];
    this.#list.fill(endpoints);
    for (const endpoint of endpoints) this.ring.name(endpoint);
    return false;
  }
}

/** Whether both are states of one endpoint. */
function isSameEndpoint(endpoint: Endpoint, other: Endpoint | undefined): boolean {
  return (
    endpoint.slot === other?.slot && endpoint.id === other.id && endpoint.address === other.address
  );
}
