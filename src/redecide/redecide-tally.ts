import type { ReplacementReport } from '../framework/replacement.ts';
import { countOf, grouped } from '../framework/values/grouped.ts';
import { textTable } from '../framework/values/text-table.ts';
import type { CapturedDecision } from '../journal/capture/capture-record.ts';
import type { RunRedecision } from './redecide.ts';
import { sameDecision } from './redecision.ts';

/** The most scorers that are named for each differing request. */
const TERMS_MAX = 3;

/** Counts how decisions compare with the recorded ones, and keeps the first that differ. */
export class RedecideTally {
  decisions = 0;
  differ = 0;
  #runs = 0;
  /** Same endpoint, another score. */
  #scoresAlone = 0;
  #undecided = 0;
  /** Those for which the capture lacks earlier records of their run. */
  readonly #partial = { decisions: 0, differ: 0 };
  #scheduler: string | undefined;
  readonly #uncaptured = new Set<string>();
  readonly #declined = new Map<string, number>();
  readonly #examples: RunRedecision[] = [];
  readonly #examplesMax: number;
  readonly #isComparison: boolean;
  readonly #byEndpoint = new Map<string, { was: number; is: number }>();

  /** In a comparison with another configuration, only other endpoints are differences to show. */
  constructor(examplesMax: number, { isComparison }: { readonly isComparison: boolean }) {
    this.#examplesMax = examplesMax;
    this.#isComparison = isComparison;
  }

  add(each: RunRedecision): void {
    this.#runs = each.run;
    // The profiles decided instead: that says nothing about the scheduler under test.
    if (each.undecided === true) {
      this.#undecided += 1;
      return;
    }
    this.decisions += 1;
    if (each.isPartial) this.#partial.decisions += 1;
    this.#count(each.was, 'was');
    this.#count(each.is, 'is');
    if (sameDecision(each.was, each.is)) return;
    this.differ += 1;
    if (each.isPartial) this.#partial.differ += 1;
    if (destinationOf(each.was) === destinationOf(each.is)) {
      this.#scoresAlone += 1;
      if (this.#isComparison) return;
    }
    if (this.#examples.length < this.#examplesMax) this.#examples.push(each);
  }

  /** Adds the counts of a replacement in one run. */
  addReplacement({ name, declined }: ReplacementReport): void {
    this.#scheduler = name;
    for (const [reason, count] of declined) {
      this.#declined.set(reason, (this.#declined.get(reason) ?? 0) + count);
    }
  }

  /** Adds what a run's own configuration knew that is not in the capture. */
  addUncaptured(what: string): void {
    this.#uncaptured.add(what);
  }

  /** Whether no decision was made again. */
  get isEmpty(): boolean {
    return this.decisions + this.#undecided === 0;
  }

  summary(): object {
    return {
      runs: this.#runs,
      decisions: this.decisions,
      identical: this.decisions - this.differ,
      sameEndpoint: this.decisions - this.differ + this.#scoresAlone,
      ...(this.#partial.decisions > 0 && {
        afterMissing: {
          decisions: this.#partial.decisions,
          identical: this.#partial.decisions - this.#partial.differ,
        },
      }),
      ...(this.#uncaptured.size > 0 && { uncaptured: [...this.#uncaptured] }),
      ...(this.#scheduler !== undefined && {
        scheduler: this.#scheduler,
        undecided: this.#undecided,
        declined: Object.fromEntries(this.#declined),
      }),
      endpoints: Object.fromEntries(this.#byEndpoint),
      differing: this.#examples.map(({ run, n, request, was, is, place, standing }) => ({
        run,
        n,
        id: request.id,
        was,
        is,
        place,
        ...standing,
      })),
    };
  }

  text(): string {
    const lines = [this.#firstLine()];
    if (!this.#isComparison && this.#partial.decisions > 0) lines.push(this.#partialText());
    if (!this.#isComparison && this.differ > 0 && this.#uncaptured.size > 0) {
      lines.push(
        `decided again without what is not in the capture: ${[...this.#uncaptured].join(', ')}`,
      );
    }
    if (this.#undecided > 0) lines.push(this.#undecidedText());
    if (this.#isComparison ? this.#elsewhere() > 0 : this.differ > 0) {
      const counts = [...this.#byEndpoint].toSorted(([a], [b]) => a.localeCompare(b));
      const rows = counts.map(([id, { was, is }]) => [id, grouped(was), grouped(is)]);
      lines.push('', ...textTable([['endpoint', 'was', 'is'], ...rows], 1));
      if (this.#examples.length > 0) {
        lines.push('', 'the first that differ: request, tokens, was → is');
      }
      for (const each of this.#examples) lines.push(...this.#differing(each));
    }
    return `${lines.join('\n')}\n`;
  }

  #elsewhere(): number {
    return this.differ - this.#scoresAlone;
  }

  #firstLine(): string {
    const elsewhere = this.#elsewhere();
    const runs = this.#runs > 1 ? ` of ${grouped(this.#runs)} runs` : '';
    if (!this.#isComparison) {
      const share = shareText(this.decisions - this.differ, this.decisions);
      return `${countOf(this.decisions, 'decision')}${runs}, ${share} % identical, ${grouped(elsewhere)} to another endpoint`;
    }
    const same = this.decisions - elsewhere;
    const share = shareText(same, this.decisions);
    return `against another configuration: same pick in ${grouped(same)} of ${countOf(this.decisions, 'decision')}${runs} (${share} %), ${grouped(elsewhere)} to another endpoint`;
  }

  /** What the core would have learned from missing records, it does not know. */
  #partialText(): string {
    const { decisions, differ } = this.#partial;
    const others = this.decisions - decisions;
    const share = shareText(decisions - differ, decisions);
    const these = `${grouped(decisions)} of them come after records that are missing: ${share} % of these are identical`;
    if (others === 0) return these;
    return `${these}, of the others ${shareText(others - (this.differ - differ), others)} %`;
  }

  #undecidedText(): string {
    const reasons = [...this.#declined]
      .map(([reason, count]) => `${grouped(count)} ${reason}`)
      .join(', ');
    const scheduler = this.#scheduler ?? 'the scheduler';
    const late = this.#declined.has('deadline') ? DEADLINE_ADVICE : '';
    return `${grouped(this.#undecided)} more that ${scheduler} left to the profiles are not compared: ${reasons}${late}`;
  }

  #differing(each: RunRedecision): readonly string[] {
    const { run, n, request, was, is } = each;
    const place = this.#runs > 1 ? `run ${run}, ${n}` : n;
    const why = whyOf(each);
    const line = `  ${place}, ${grouped(request.promptTokens)}: ${decisionText(was)} → ${decisionText(is)}`;
    return why === undefined ? [line] : [line, `    ${why}`];
  }

  #count(decision: CapturedDecision, side: 'was' | 'is'): void {
    const place = destinationOf(decision);
    const counts = this.#byEndpoint.get(place) ?? { was: 0, is: 0 };
    counts[side] += 1;
    this.#byEndpoint.set(place, counts);
  }
}

/** Answers that come too late say more of this machine than of the scheduler. */
const DEADLINE_ADVICE =
  '; on a busy machine, give the scheduler a larger deadlineMs (at most 1000) here';

function shareText(part: number, whole: number): string {
  return (whole === 0 ? 100 : (100 * part) / whole).toFixed(3);
}

function destinationOf(decision: CapturedDecision): string {
  return 'error' in decision ? `(${decision.error})` : decision.endpoint;
}

function decisionText(decision: CapturedDecision): string {
  return 'error' in decision
    ? decision.error
    : `${decision.endpoint} (${decision.score.toFixed(4)})`;
}

/** Why a decision differs; undefined where there is no endpoint to compare, or the same one. */
function whyOf({ was, is, place, standing }: RunRedecision): string | undefined {
  if (standing === undefined || 'error' in was || 'error' in is) return undefined;
  const { candidates, scores, terms } = standing;
  if (scores === undefined || place === undefined) {
    const others = `${candidates} ${candidates === 1 ? 'endpoint' : 'endpoints'}, without ${was.endpoint}`;
    return is.by === undefined ? `the filters leave ${others}` : `${is.by} names ${others}`;
  }
  const scored = `${was.endpoint} is number ${place} of ${candidates} with ${scores.was.toFixed(4)}`;
  if (scores.was === scores.is) return `${scored}, too: the picker chose among equal scores`;
  const apart = terms
    .filter((term) => term.was !== term.is)
    .slice(0, TERMS_MAX)
    .map(({ scorer, was: theirs, is: ours }) => `${scorer} ${signed(theirs - ours)}`);
  return apart.length === 0 ? scored : `${scored}: ${apart.join(', ')}`;
}

function signed(difference: number): string {
  return `${difference < 0 ? '−' : '+'}${Math.abs(difference).toFixed(4)}`;
}
