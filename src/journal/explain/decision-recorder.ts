import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Waited } from '../../framework/routing.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { Decision } from '../../framework/scheduling.ts';
import type { DecisionEvent, JournalSubscriber } from '../../picker/events/journal.ts';
import { TEXT_MAX } from './bytes.ts';
import { DecisionRing } from './decision-ring.ts';
import { writeNumbers } from './numbers.ts';
import { ENDING, HEAD, NO_NUMBER, NO_SLOT, RECORD_FLAG, SCORE } from './record-format.ts';
import { LastRequestTimes } from './request-times.ts';
import { RunWriter, SlotBuffer, writeSlots } from './run-writer.ts';

interface RecorderOptions {
  readonly clock: Clock;
  /** At least so many of the last decisions are kept, unless they take more than `bytesMax`. */
  readonly decisionsMax?: number;
  readonly bytesMax?: number;
  /** In larger pools only the scores of the 16 best endpoints and of the targets are kept. */
  readonly endpointsMax?: number | undefined;
}

const DECISIONS_MAX = 100_000;
const BYTES_MAX = 256 * 1024 * 1024;
/** Up to here it takes less time to keep all than to find the best. */
export const ENDPOINTS_MAX = 64;
/** All texts of a decision, and its parts of fixed length. */
const HEAD_BYTES_MAX = 5 * (TEXT_MAX + 1) + 96;

/**
 * Keeps the last decisions in memory, so that they can be explained: the candidates, what each
 * filter dropped, the scores of the best endpoints, the targets, and the terms of the scores of pick and runner-up. They
 * are kept as bytes, as `record-format.ts` has it: nothing that a garbage collector has to follow.
 * Decisions over 65,535 endpoints and more are not kept.
 */
export class DecisionRecorder implements JournalSubscriber {
  readonly ring: DecisionRing;
  readonly times: LastRequestTimes = new LastRequestTimes();
  readonly #clock: Clock;
  readonly #wallOffsetMs: () => Millis;
  readonly #runs: RunWriter;
  readonly #list = new SlotBuffer();
  /** The candidates of the last decision. */
  #candidates: Endpoint[] = [];
  #id = '';
  #model = '';
  readonly #head = new Float64Array(HEAD.count);
  readonly #score = new Float64Array(SCORE.count);
  readonly #lastHead = new Float64Array(HEAD.count + SCORE.count);

  constructor(options: RecorderOptions) {
    const { clock, decisionsMax = DECISIONS_MAX, bytesMax = BYTES_MAX } = options;
    this.ring = new DecisionRing({ decisionsMax, bytesMax });
    this.#clock = clock;
    this.#wallOffsetMs = (): Millis => clock.wallTime() - clock.now();
    this.#runs = new RunWriter(this.ring, options.endpointsMax ?? ENDPOINTS_MAX);
  }

  /** Milliseconds since the epoch. */
  wallMs(): Millis {
    return this.#clock.wallTime();
  }

  onRouted(routed: Routed): void {
    this.times.onRouted(routed);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    this.times.onFirstToken(routed, at);
  }

  onDecision(event: DecisionEvent): void {
    const { request, candidates, context, decision, faults } = event;
    const { waited } = event.options;
    // A slot is written in two bytes.
    if (context === undefined || candidates.length >= NO_SLOT) return;
    const insteadOf = decision?.insteadOf;
    const { log } = this.ring;
    const sameList = this.#noteCandidates(candidates);
    const layout = this.#runs.layoutFor(decision?.profiles.length ?? 0);
    const inFull = this.ring.begin(layout, this.#wallOffsetMs);
    if (inFull) this.#lastHead.fill(Number.NaN);
    log.reserve(HEAD_BYTES_MAX + 2 * candidates.length);
    const sameModel = request.model === this.#model && !inFull;
    this.#model = request.model;
    log.u8(
      (sameList && !inFull ? RECORD_FLAG.sameList : 0) |
        (sameModel ? RECORD_FLAG.sameModel : 0) |
        (request.streaming ? RECORD_FLAG.streaming : 0) |
        (faults.length > 0 ? RECORD_FLAG.faulty : 0) |
        (insteadOf === undefined ? 0 : RECORD_FLAG.instead) |
        (waited === undefined ? 0 : RECORD_FLAG.waited),
    );
    const shared = inFull ? 0 : sharedLength(request.id, this.#id);
    this.#id = request.id;
    log.u8(shared);
    const idHash = log.text(request.id, shared);
    const requestIdHash = log.text(request.headers.get('x-request-id') ?? '');
    if (!sameModel) log.text(request.model);
    if (faults.length > 0) log.text(faults.join('; '));
    if (insteadOf !== undefined) log.text(`${insteadOf.scheduler}: ${insteadOf.reason}`);
    if (waited !== undefined) this.#writeWaited(waited, candidates);
    this.#head[0] = request.promptTokens;
    this.#head[1] = event.at;
    writeNumbers(log, this.#head, HEAD, this.#lastHead);
    if (!sameList || inFull) writeSlots(this.ring, this.#list);
    for (const result of decision?.profiles ?? []) {
      const targets = result.kind === 'picked' ? result.targets : [];
      if (result.run !== undefined) this.#runs.write(result.run, targets, this.#list);
    }
    log.reserve(HEAD_BYTES_MAX);
    log.u8(NO_NUMBER);
    if (decision === undefined) log.u8(ENDING.threw);
    else this.#writeEnding(decision);
    this.ring.end(idHash, requestIdHash);
  }

  #writeWaited({ heldMs, endpoint, cachedTokens }: Waited, candidates: readonly Endpoint[]): void {
    const { log } = this.ring;

    log.f64(heldMs);
    log.u16(candidates.find(({ id }) => id === endpoint)?.slot ?? NO_SLOT);
    log.f64(cachedTokens);
  }

  #writeEnding({ primary, prefill, decidedBy = '' }: Decision): void {
    const { log } = this.ring;
    const target = primary.kind === 'picked' ? primary.targets[0] : undefined;
    log.u8(target === undefined ? ENDING.exhausted : ENDING.picked);
    log.u8(primary.run === undefined ? NO_NUMBER : this.#runs.numberOf(primary.run.profile));
    if (target === undefined) return;
    log.u16(target.endpoint.slot);
    this.#score[0] = target.score;
    writeNumbers(log, this.#score, SCORE, this.#lastHead);
    log.u16(prefill?.slot ?? NO_SLOT);
    log.text(decidedBy);
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

/** How many characters both texts begin with. Ids of ours differ in their last characters. */
function sharedLength(text: string, other: string): number {
  const most = Math.min(text.length, other.length, TEXT_MAX);
  let length = 0;
  while (length < most && text.charCodeAt(length) === other.charCodeAt(length)) length += 1;
  return length;
}

/** Whether both are states of one endpoint. */
function isSameEndpoint(endpoint: Endpoint, other: Endpoint | undefined): boolean {
  return (
    endpoint.slot === other?.slot && endpoint.id === other.id && endpoint.address === other.address
  );
}
