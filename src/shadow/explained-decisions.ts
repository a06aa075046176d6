import { countOf } from '../framework/values/grouped.ts';
import { type Explained, WHYS, type Why } from '../redecide/observed-differences.ts';

type Counts = Record<Why, number>;

/** How decisions of an observed picker stand to a shadow's, and how picks at random would. */
export interface ExplainedDecisions {
  readonly why: Readonly<Counts>;
  readonly drawn: Readonly<Counts>;
}

const IN_WORDS: Readonly<Record<Why, string>> = {
  same: 'have the same endpoint',
  tie: 'are ties',
  'not-scored': 'went to an endpoint that is left out here',
  samples: 'follow from earlier samples',
  unexplained: 'are not explained',
};

/** Counts what is said of observed decisions. */
export class ExplainedTally {
  readonly #why = noCounts();
  readonly #drawn = noCounts();
  #decisions = 0;

  add({ why, drawn }: Explained): void {
    this.#decisions += 1;
    this.#why[why] += 1;
    this.#drawn[drawn] += 1;
  }

  /** Undefined before the first. */
  report(): ExplainedDecisions | undefined {
    return this.#decisions === 0 ? undefined : { why: this.#why, drawn: this.#drawn };
  }
}

/** As a sentence for people. */
export function explainedText({ why, drawn }: ExplainedDecisions): string {
  const decisions = WHYS.reduce((sum, each) => sum + why[each], 0);
  const percent = (count: number): string => `${((100 * count) / decisions).toFixed(1)} %`;
  const shares = WHYS.map((each) => `${percent(why[each])} ${IN_WORDS[each]}`).join(', ');
  const chance = `of endpoints drawn at random ${percent(drawn.unexplained)} would not be`;
  return `of a sample of ${countOf(decisions, 'decision')} ${shares}; ${chance}`;
}

function noCounts(): Counts {
  return { same: 0, tie: 0, 'not-scored': 0, samples: 0, unexplained: 0 };
}
