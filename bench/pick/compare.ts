import { quantile, sorted } from '../../src/lab/run-summary/statistics.ts';
import { makePicker, makeRequests, type PickCode, picking, type Row } from './picking.ts';

const ENDPOINTS = [8, 64, 256];
/** A body of 1 KB. */
const PROMPT_TOKENS = 256;
/** Until both are compiled and the prefix index has its entries. */
const WARM_UP_PICKS = 12_000;
const ROUNDS = 80;
/** A few milliseconds: what disturbs one side of a round often disturbs the other. */
const PICKS = 500;
const QUIET_SHARE = 0.2;

interface Sides {
  readonly ours: PickCode;
  readonly other: PickCode;
  readonly config: string;
}

/** The CPU of decisions of two checkouts, which decide in turn, as lines of text. */
export function compare({ ours, other, config }: Sides): string {
  const lines = ['endpoints   ours µs   other µs   ratio of the rounds: median (quartiles)'];
  for (const endpoints of ENDPOINTS) {
    const row = { policy: 'default', config, endpoints, promptTokens: PROMPT_TOKENS };
    const [mine, theirs] = [ready(ours, row), ready(other, row)];
    const rounds = Array.from({ length: ROUNDS }, (_, index) => inTurn(mine, theirs, index));
    const quiet = (side: 0 | 1): string =>
      quantile(sorted(rounds.map((round) => round[side])), QUIET_SHARE).toFixed(1);
    const ratios = sorted(rounds.map(([a, b]) => a / b));
    const [low, median, high] = [0.25, 0.5, 0.75].map((at) => quantile(ratios, at).toFixed(3));
    const ratio = `${median} (${low} to ${high})`;
    lines.push(
      `${String(endpoints).padStart(9)} ${quiet(0).padStart(9)} ${quiet(1).padStart(10)}   ${ratio}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** One round of each; every other time the other side is first. */
function inTurn(
  mine: () => number,
  theirs: () => number,
  round: number,
): readonly [number, number] {
  if (round % 2 === 0) return [mine(), theirs()];
  const other = theirs();
  return [mine(), other];
}

/** A function that decides for one round and returns the CPU µs of a decision. */
function ready(code: PickCode, row: Row): () => number {
  const pick = picking(code, makePicker(code, row), makeRequests(code, row.promptTokens));
  for (let index = 0; index < WARM_UP_PICKS; index++) pick();
  return () => {
    const before = process.cpuUsage();
    for (let index = 0; index < PICKS; index++) pick();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / PICKS;
  };
}
