import type { Outcome, RequestObserver, Routed } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Random } from '../../framework/runtime.ts';
import { ArmTally } from './arm-tally.ts';
import type { Arms } from './promotion-rule.ts';

/** With the value `challenger` or `incumbent` it says which of the two decides, whatever the share. */
export const CANARY_HEADER = 'x-pointsman-canary';

type Arm = 'incumbent' | 'challenger';

/**
 * Says which requests a challenger decides, in place of the one in charge: a share of them, drawn by chance, and those whose
 * header asks for it. Adds up what becomes of those drawn; the others would not be alike.
 */
export class Canary implements RequestObserver {
  readonly #random: Random;
  #percent: number | undefined;
  /** Whose a request is: it is asked before its cycle and in it. */
  #arms = new WeakMap<InferenceRequest, Arm>();
  #tallies: Record<Arm, ArmTally> = { incumbent: new ArmTally(), challenger: new ArmTally() };
  /** Where a request counts: one that was drawn before the share changed counts no more. */
  #counted = new WeakMap<InferenceRequest, ArmTally>();
  #answered = new WeakSet<Routed>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** From here on, so many of a hundred requests; undefined where there is no challenger. What was counted is forgotten. */
  share(percent: number | undefined): void {
    this.#percent = percent;
    this.#arms = new WeakMap();
    this.#tallies = { incumbent: new ArmTally(), challenger: new ArmTally() };
    this.#counted = new WeakMap();
    this.#answered = new WeakSet();
  }

  outcomes(): Arms {
    const { challenger, incumbent } = this.#tallies;
    return { challenger: challenger.report(), incumbent: incumbent.report() };
  }

  /** Whether the challenger decides it; the same whenever it is asked. */
  readonly takes = (request: InferenceRequest): boolean => {
    if (this.#percent === undefined) return false;
    const known = this.#arms.get(request);
    if (known !== undefined) return known === 'challenger';
    const wanted = request.headers.get(CANARY_HEADER);
    const asked = wanted === 'challenger' || wanted === 'incumbent' ? wanted : undefined;
    const arm = asked ?? this.#draw(request);
    this.#arms.set(request, arm);
    if (asked === undefined) this.#counted.set(request, this.#tallies[arm]);
    return arm === 'challenger';
  };

  /** Refused, by whoever decides it: it never is routed. */
  refused(request: InferenceRequest): void {
    this.#counted.get(request)?.ended(true);
  }

  /** Leaves it to the one in charge after all, and counts it against the challenger. */
  fallBack(request: InferenceRequest): void {
    this.refused(request);
    this.#counted.delete(request);
    this.#arms.set(request, 'incumbent');
  }

  onFirstToken(routed: Routed, at: number): void {
    const tally = this.#counted.get(routed.request);
    if (tally === undefined) return;
    this.#answered.add(routed);
    tally.answered(at - routed.at);
  }

  onDone(routed: Routed, at: number, outcome: Outcome): void {
    const tally = this.#counted.get(routed.request);
    if (tally === undefined || outcome === 'aborted') return;
    tally.ended(outcome === 'failed');
    if (outcome === 'completed' && !this.#answered.has(routed)) tally.answered(at - routed.at);
  }

  #draw({ id }: InferenceRequest): Arm {
    const drawn = this.#random.fork(id).next() * 100;
    return drawn < (this.#percent ?? 0) ? 'challenger' : 'incumbent';
  }
}
