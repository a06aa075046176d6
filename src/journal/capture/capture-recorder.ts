import { createHmac, randomBytes } from 'node:crypto';
import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import { DEFAULT_FLOW, type InferenceRequest, type PromptBlocks } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Decision } from '../../framework/scheduling.ts';
import type { EventClock } from '../../picker/events/event-clock.ts';
import type { DecisionEvent, JournalSubscriber } from '../../picker/events/journal.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { CaptureLines, type Sink } from './capture-lines.ts';
import {
  CAPTURE_VERSION,
  type CapturedDecision,
  type CaptureHead,
  type CaptureRecord,
  decisionOf,
} from './capture-record.ts';
import { isSampled, poolRecords, writeAdded, writeAttributes } from './endpoint-records.ts';
import { utf8 } from './line-bytes.ts';
import { RedactedHeaders } from './redacted-headers.ts';
import type { Redacted } from './request-bytes.ts';
import { WrittenScores } from './written-scores.ts';

export interface CaptureRecorderOptions {
  readonly plan: PickerPlan;
  /** Plans that decide beside it: the capture holds what they read of requests, too. */
  readonly shadows?: readonly PickerPlan[] | undefined;
  readonly seed: number;
  /** Whether other pickers of the pool say what they do. */
  readonly isShared?: boolean | undefined;
  /** The picker's clock. It is not read before the first event and the first head. */
  readonly clock: Pick<EventClock, 'now' | 'wallTime' | 'timers'>;
}

/** Fairness ids and header values recur; beyond this many all hashes are made anew. */
const HASHES_MAX = 10_000;
/** A longer text is hashed anew each time: clients choose what is hashed. */
const HASHED_CHARS_MAX = 256;

/** Gives sinks all inputs and decisions of a picker without text, so that it can decide again. */
export class CaptureRecorder implements JournalSubscriber {
  readonly #clock: CaptureRecorderOptions['clock'];
  readonly #seed: number;
  readonly #isShared: boolean;
  readonly #lines = new CaptureLines();
  readonly #hash = secretHash();
  readonly #headers: RedactedHeaders;
  readonly #scores = new WrittenScores();
  /** Samples that are not written yet: only those that a decision has seen matter. */
  readonly #samples = new Map<Endpoint['id'], Endpoint>();
  #config: unknown;

  constructor({ plan, shadows, seed, isShared = false, clock }: CaptureRecorderOptions) {
    this.#clock = clock;
    this.#seed = seed;
    this.#isShared = isShared;
    this.#headers = new RedactedHeaders(this.#hash, shadows);
    this.#usePlan(plan);
  }

  /** Gives this sink all lines from now on. */
  listen(sink: Sink): void {
    this.#lines.listen(sink);
  }

  /** Hands over the lines that are gathered. Call it before the lines so far are needed. */
  drain(): void {
    this.#lines.drain();
  }

  /** The first record of a file. With the pool, the file can be read without those before it. */
  head(file: number, endpoints: readonly Endpoint[] = []): CaptureHead {
    return {
      e: 'capture',
      version: CAPTURE_VERSION,
      seed: this.#seed,
      config: this.#config,
      wallMs: this.#clock.wallTime(),
      timers: this.#clock.timers,
      t: this.#clock.now(),
      file,
      ...(this.#isShared && { shared: true }),
      ...(endpoints.length > 0 && { pool: poolRecords(endpoints) }),
    };
  }

  /** Hands over the lines so far, and returns those that a reader of the next ones needs first. */
  begin(endpoints: readonly Endpoint[]): Uint8Array {
    this.drain();
    const records = [this.head(0), ...poolRecords(endpoints)];
    return utf8(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  }

  onDecision({
    number,
    at,
    request,
    options,
    heldBefore,
    crowdedOut,
    adoptionsAgo,
    changesAgo,
    expected,
    decision,
    error,
    refusedBy,
  }: DecisionEvent): void {
    this.#writeSamples();
    const captured =
      error === undefined ? this.#captured(decision, changesAgo) : refusalOf(error, refusedBy);
    if (captured === undefined) return;
    const redacted = this.#redact(request, adoptionsAgo);
    const asked = { request, redacted, options, heldBefore, crowdedOut, expected };
    const since = { adoptionsAgo, changesAgo };
    this.#lines.decided(at, number, { ...asked, ...since, decision: captured });
  }

  onFirstToken({ number }: Routed, at: Millis): void {
    this.#lines.firstToken(at, number);
  }

  onServed({ number }: Routed, address: string, at: Millis): void {
    this.#lines.served(at, number, address);
  }

  onBodyRead({ number }: Routed, request: InferenceRequest): void {
    this.#lines.bodyRead(this.#clock.now(), number, request, this.#redact(request));
  }

  onAnswered({ number }: Routed, conversation: PromptBlocks): void {
    this.#lines.answered(this.#clock.now(), number, conversation);
  }

  onEnded(
    { number }: Routed,
    at: Millis,
    outcome: Outcome,
    usage: Usage | undefined,
    responseBytes?: number,
  ): void {
    this.#lines.done(at, number, outcome, usage, responseBytes);
  }

  onTimer(timer: number, at: Millis): void {
    this.#write({ e: 'timer', t: at, i: timer });
  }

  onAdopted(plan: PickerPlan, at: Millis, undecided: number): void {
    this.#usePlan(plan);
    // Its plugins begin with the pool as it is now.
    this.#writeSamples();
    this.#write({ e: 'adopt', t: at, config: this.#config, ...undecidedField(undecided) });
  }

  onChallenged(plan: PickerPlan, name: string, at: Millis, undecided: number): void {
    this.#scores.challenged(plan, name);
    // Its plugins begin with the pool as it is now.
    this.#writeSamples();
    const config = plan.effective;
    this.#write({ e: 'challenge', t: at, name, config, ...undecidedField(undecided) });
  }

  onWithdrawn(at: Millis, undecided: number): void {
    this.#scores.withdrawn();
    this.#write({ e: 'withdraw', t: at, ...undecidedField(undecided) });
  }

  onEndpointAdded(endpoint: Endpoint): void {
    this.#headers.setEndpoint(endpoint);
    writeAdded(endpoint, this.#write);
    if (isSampled(endpoint)) this.#samples.set(endpoint.id, endpoint);
  }

  onEndpointRemoved({ id }: Endpoint): void {
    this.#samples.delete(id);
    this.#headers.removeEndpoint(id);
    this.#write({ e: '-', id });
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    const { id, labels } = endpoint;
    if (labels !== previous.labels) {
      this.#headers.setEndpoint(endpoint);
      this.#write({ e: 'labels', id, labels: Object.fromEntries(labels) });
    }
    if (endpoint.metrics !== previous.metrics) this.#samples.set(id, endpoint);
    writeAttributes(endpoint, previous, this.#write);
  }

  #usePlan(plan: PickerPlan): void {
    this.#config = plan.effective;
    this.#headers.usePlan(plan);
    this.#scores.adopted(plan);
  }

  #captured(decision: Decision | undefined, changesAgo: number): CapturedDecision | undefined {
    const captured = decision && decisionOf(decision);
    if (captured === undefined || this.#scores.allow(captured, changesAgo)) return captured;
    return { ...captured, score: Number.NaN };
  }

  #redact({ headers, fairnessId }: InferenceRequest, adoptionsAgo = 0): Redacted {
    const fairness = fairnessId === DEFAULT_FLOW ? fairnessId : this.#hash(fairnessId);
    return { headers: this.#headers.redact(headers, adoptionsAgo), fairness };
  }

  readonly #write = (record: CaptureRecord): void => this.#lines.record(record);

  #writeSamples(): void {
    if (this.#samples.size === 0) return;
    for (const endpoint of this.#samples.values()) this.#lines.sampled(endpoint);
    this.#samples.clear();
  }
}

function undecidedField(undecided: number): { readonly undecided?: number } {
  return undecided > 0 ? { undecided } : {};
}

/** Undefined for a fault of our own: no replay can repeat it. */
function refusalOf(error: unknown, by: string | undefined): CapturedDecision | undefined {
  return error instanceof RoutingError ? { error: error.code, by } : undefined;
}

/** Hashes with a secret that is never written, so that no guess at a text can be confirmed. */
function secretHash(): (text: string) => string {
  const secret = randomBytes(32);
  const hashes = new Map<string, string>();
  return (text) => {
    const known = hashes.get(text);
    if (known !== undefined) return known;
    const hash = createHmac('sha256', secret).update(text).digest('base64url').slice(0, 16);
    if (text.length > HASHED_CHARS_MAX) return hash;
    if (hashes.size >= HASHES_MAX) hashes.clear();
    hashes.set(text, hash);
    return hash;
  };
}
