import { grouped } from '../../framework/values/grouped.ts';
import { textTable } from '../../framework/values/text-table.ts';
import { othersText } from '../../journal/explain/left-out-text.ts';
import { deciderText } from '../../picker/cycles/cycle.ts';
import type { LiveDecision } from '../../serve/live/live-message.ts';
import { ending, ms, NAME_CHARS_MIN } from './top-pool.ts';

/** Characters of a line beside the request's id. A longer id is cut: `explain` has all of it. */
const BESIDE_IDS = 88;
const ID_CHARS_MIN = 10;
/** Characters of a line beside the id and the two names of a decision. */
const BESIDE_BOTH_NAMES = 40;

/** A table of the latest decisions; what a line has no room for is left out or cut. */
export function decisionLines(
  decisions: readonly LiveDecision[],
  nameOf: (id: string) => string,
  columns: number,
): readonly string[] {
  if (decisions.length === 0) return ['no requests yet'];
  const idChars = Math.max(ID_CHARS_MIN, columns - BESIDE_IDS);
  const left = Number.isFinite(columns) ? columns - idChars - BESIDE_BOTH_NAMES : columns;
  const nameChars = Math.max(NAME_CHARS_MIN, Math.floor(left / 2));
  const shortName = (id: string): string => ending(nameOf(id), nameChars);
  const rows = decisions.map((decision) => [
    shortened(decision.requestId || decision.id, idChars),
    grouped(decision.promptTokens),
    decision.held === undefined ? '-' : ms(decision.held.ms),
    decision.outcome.kind === 'picked' ? shortName(decision.outcome.endpoint) : 'no endpoint',
    becauseOf(decision, shortName),
  ]);
  const heads = ['request', 'tokens', 'held', 'went to', 'because'];
  let table = [heads, ...rows];
  for (const spare of SPARE_FIRST) {
    const lines = textTable(table, heads.length);
    if (lines.every((line) => line.length <= columns)) break;
    const at = table[0]?.indexOf(spare);
    table = table.map((row) => row.filter((_, column) => column !== at));
  }
  return textTable(table, heads.length);
}

/** What is left out, in this order, where a line has no room for it. */
const SPARE_FIRST = ['held', 'tokens'];

/** The text with at most so many characters: a longer one is cut and ends in `…`. */
export function shortened(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars - 1)}…`;
}

function becauseOf(
  { outcome, profiles, besideTrial, leftOut }: LiveDecision,
  nameOf: (id: string) => string,
): string {
  if (outcome.kind === 'threw') return 'the scheduler failed';
  if (outcome.kind === 'refused') return `${outcome.refusedBy} refused it`;
  if (outcome.kind === 'exhausted') return 'the filters left none';
  if (outcome.kind === 'screened') return 'screening left none';
  if ('why' in outcome) return `refused: ${outcome.why}`;
  const { decidedBy, profile: used } = outcome;
  const chosenBy = profiles.find(({ profile }) => profile === used);
  const runnerUp = chosenBy?.runnerUp;
  const trial = besideTrial === undefined ? undefined : 'the trial of an ejected endpoint';
  const why = runnerUp === undefined ? trial : aheadOf(runnerUp, nameOf);
  if (decidedBy === undefined) return why ?? noOther(chosenBy, leftOut);
  // A scheduler elsewhere gives no scores; a promoted shadow does.
  const by = `decided by ${deciderText(decidedBy)}`;
  return why === undefined ? by : `${why}, ${by}`;
}

/** Why no endpoint stood beside the pick. */
function noOther(
  profile: LiveDecision['profiles'][number] | undefined,
  leftOut: LiveDecision['leftOut'],
): string {
  const isFiltered = profile?.filters.some(({ dropped }) => dropped > 0) === true;
  if (isFiltered) return 'the filters left no other';
  return leftOut === undefined ? 'there was no other' : othersText(leftOut);
}

type RunnerUp = NonNullable<LiveDecision['profiles'][number]['runnerUp']>;

function aheadOf(runnerUp: RunnerUp, nameOf: (id: string) => string): string {
  const [cost] = runnerUp.costs;
  const second = nameOf(runnerUp.endpoint);
  const { scoreBehind } = runnerUp;
  const asGood = `as good as ${second}`;
  // Where the runner-up costs less, other scores decided.
  if (cost === undefined || cost.more <= -SHOWN_MS / 2) {
    const isTie = Math.abs(scoreBehind) < SHOWN_SCORE / 2;
    return isTie ? asGood : `${scoreBehind.toFixed(3)} ahead of ${second} in score`;
  }
  return cost.more < SHOWN_MS / 2 ? asGood : `${ms(cost.more)} better than ${second}`;
}

/** The least difference of a time, and of a score, that the lines show. */
const SHOWN_MS = 0.1;
const SHOWN_SCORE = 0.001;
