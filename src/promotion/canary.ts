import { RoutingError } from '../framework/error.ts';
import type { Outcome, Routed } from '../framework/observer.ts';
import { NO_OPINION } from '../framework/replacement.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { Millis, Random } from '../framework/runtime.ts';
import type { DecisionEvent, JournalSubscriber } from '../picker/events/journal.ts';
import { ArmTally } from './arm-tally.ts';
import type { ArmReports } from './promotion-rule.ts';
import { RecentFailures } from './recent-failures.ts';

/** Request header: `challenger` or `incumbent` chooses which decides, whatever the share. */
export const CANARY_HEADER = 'x-pointsman-canary';

/** A scheduler in another process is connected to anew for a promotion; a hung one takes 5 s. */
const CONNECT_MS = 10_000;

type Arm = 'incumbent' | 'challenger';

/**
 * Chooses the requests that a challenger decides in place of the plan in charge: a random share,
 * and those whose header asks for it. Adds up the outcomes of the randomly chosen requests only,
 * because the others are not a fair comparison.
 */
export class Canary implements JournalSubscriber {
  readonly #random: Random;
  #percent: number | undefined;
  /** Which of the two decides a request. It is kept: it is asked before and during the cycle. */
  #arms = new WeakMap<InferenceRequest, Arm>();
  /** Requests that came while a challenger was promoted, also before changes of its share. */
  readonly #compared = new WeakSet<InferenceRequest>();
  #tallies: Record<Arm, ArmTally> = { incumbent: new ArmTally(), challenger: new ArmTally() };
  /** Failures of the configuration in charge count while nothing is promoted, too. */
  #recent: Record<Arm, RecentFailures> = {
    incumbent: new RecentFailures(),
    challenger: new RecentFailures(),
  };
  /** What the challenger's scheduler left to its profiles, once it has had time to connect. */
  #undecided = new RecentFailures();
  /** When the challenger decided first, and whether its scheduler has decided any request. */
  #beganAt: Millis | undefined;
  #connected = false;
  /** The tally of a request; none for requests from before a change of the share. */
  #counted = new WeakMap<InferenceRequest, ArmTally>();
  #answered = new WeakSet<Routed>();

  constructor(random: Random) {
    this.#random = random;
  }

  /**
   * Sets the challenger's percentage; undefined for no challenger. Resets all counts but the recent
   * failures of the configuration in charge.
   */
  setShare(percent: number | undefined): void {
    this.#percent = percent;
    this.#arms = new WeakMap();
    this.#tallies = { incumbent: new ArmTally(), challenger: new ArmTally() };
    this.#recent.challenger = new RecentFailures();
    this.#undecided = new RecentFailures();
    this.#counted = new WeakMap();
    this.#answered = new WeakSet();
  }

  /** Another challenger begins: its scheduler has yet to connect. */
  begin(): void {
    this.#beganAt = undefined;
    this.#connected = false;
  }

  /** Another configuration is in charge: the failures of the last one say nothing about it. */
  onAdopted(): void {
    this.#recent.incumbent = new RecentFailures();
  }

  outcomes(): ArmReports {
    const { challenger, incumbent } = this.#tallies;
    return {
      challenger: challenger.report(),
      incumbent: incumbent.report(),
      recent: {
        challenger: this.#recent.challenger.report(),
        incumbent: this.#recent.incumbent.report(),
        undecided: this.#undecided.report(),
      },
    };
  }

  /** Whether the challenger decides the request. The answer for a request never changes. */
  readonly takes = (request: InferenceRequest): boolean => {
    if (this.#percent === undefined) return false;
    const known = this.#arms.get(request);
    if (known !== undefined) return known === 'challenger';
    const wanted = request.headers.get(CANARY_HEADER);
    const asked = wanted === 'challenger' || wanted === 'incumbent' ? wanted : undefined;
    const arm = asked ?? this.#draw(request);
    this.#arms.set(request, arm);
    this.#compared.add(request);
    if (asked === undefined) this.#counted.set(request, this.#tallies[arm]);
    return arm === 'challenger';
  };

  /** A refused request is never routed: it counts as failed. */
  onDecision({ at, request, decision, error }: DecisionEvent): void {
    if (error instanceof RoutingError) this.#ended(request, 'failed');
    const tally = this.#counted.get(request);
    if (tally === undefined || decision === undefined) return;
    const reason = decision.insteadOf?.reason;
    // A scheduler without an opinion works: to leave a request to the profiles was its decision.
    const isUndecided = reason !== undefined && reason !== NO_OPINION;
    if (isUndecided) tally.undecided(reason);
    if (this.#arms.get(request) !== 'challenger') return;
    this.#beganAt ??= at;
    this.#connected ||= !isUndecided;
    if (this.#connected || at - this.#beganAt >= CONNECT_MS) this.#undecided.ended(isUndecided);
  }

  /** Leaves the request to the plan in charge, and counts it as a failure of the challenger. */
  fallBack(request: InferenceRequest): void {
    this.#ended(request, 'failed');
    this.#counted.delete(request);
    this.#arms.set(request, 'incumbent');
  }

  onFirstToken(routed: Routed, at: number): void {
    const tally = this.#counted.get(routed.request);
    if (tally === undefined) return;
    this.#answered.add(routed);
    answered(tally, routed, at);
  }

  onDone(routed: Routed, at: number, outcome: Outcome): void {
    const tally = this.#counted.get(routed.request);
    const isOpen = tally !== undefined && !this.#answered.has(routed);
    if (outcome === 'aborted') {
      const { at: pickedAt, heldMs = 0 } = routed;
      if (isOpen) tally.aborted(at - pickedAt + heldMs, heldMs);
      return;
    }
    this.#ended(routed.request, outcome);
    if (isOpen && outcome === 'completed') answered(tally, routed, at);
  }

  /** Its client gave up while it waited: only requests of the configuration in charge wait. */
  onLeft(request: InferenceRequest, waitedMs: Millis): void {
    this.#counted.get(request)?.aborted(waitedMs, waitedMs);
  }

  /** Counts a request that was chosen at random, and each request while nothing is promoted. */
  #ended(request: InferenceRequest, outcome: Outcome): void {
    const tally = this.#counted.get(request);
    const promoted = this.#percent !== undefined;
    if (tally === undefined && (promoted || this.#compared.has(request))) return;
    const failed = outcome === 'failed';
    tally?.ended(failed);
    this.#recent[this.#arms.get(request) ?? 'incumbent'].ended(failed);
  }

  #draw({ id }: InferenceRequest): Arm {
    const drawn = this.#random.fork(id).next() * 100;
    return drawn < (this.#percent ?? 0) ? 'challenger' : 'incumbent';
  }
}

/** As clients see it: one of the two may let requests wait here that the other sends at once. */
function answered(tally: ArmTally, { at: pickedAt, heldMs = 0 }: Routed, at: number): void {
  tally.answered(at - pickedAt + heldMs, heldMs);
}
