import { type Explained, WHYS, type Why } from '../redecide/observed-differences.ts';

type Counts = Record<Why, number>;

/** How decisions of an observed picker stand to a shadow's, and how picks at random would. */
export interface ExplainedDecisions {
  readonly why: Readonly<Counts>;
  readonly drawn: Readonly<Counts>;
}

const IN_WORDS: Readonly<Record<Why, string>> = {
  same: 'the same',
  tie: 'a tie',
  'not-scored': 'left out here',
  samples: 'by samples just before',
  unexplained: 'not explained',
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
  const shares = WHYS.map((each) => `${IN_WORDS[each]} ${percent(why[each])}`).join(', ');
  const chance = `${IN_WORDS.unexplained} ${percent(drawn.unexplained)}`;
  return `of ${decisions.toLocaleString('en')} decisions looked at: ${shares}; of picks at random ${chance}`;
}

function noCounts(): Counts {
  return { same: 0, tie: 0, 'not-scored': 0, samples: 0, unexplained: 0 };
}
