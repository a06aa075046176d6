import type { Side } from '../../load/bed.ts';
import { promptsOf } from '../measure-row.ts';
import { measureSide, type Round, type SideOptions } from '../measure-side.ts';
import type { GoGroup, GoRow } from './rows.ts';
import { type GoTools, type SideName, type Sides, startSides } from './sides.ts';
import type { Site } from './site.ts';

export interface GoTiming {
  /** Turns of each side in each pair of processes. */
  readonly closedTurns: number;
  readonly openTurns: number;
}

/** The turns of each side, next to each other by their index. */
export type Turns = ReadonlyMap<SideName, readonly Round[]>;

/** A row's turns, with other processes in each. */
export interface MeasuredRow {
  readonly row: GoRow;
  readonly pairs: readonly Turns[];
}

/** What all turns of a pair of processes share. */
type Common = Pick<SideOptions, 'next' | 'scrapes' | 'inTurn'>;

/** Short, as a shared machine changes its speed within seconds. */
const CLOSED_MS = 600;
/** A p99 needs some hundred requests. */
const OPEN_MS = 1200;
const WARM_UP_MS = 1200;
const WARM_UP_WINDOWS_MAX = 3;
/** V8 compiles what ran often. */
const WARM_UP_REQUESTS = 10_000;

/** Measures the rows of a group with `pairs` times new processes, one row after another in each. */
export async function measureGroup(
  group: GoGroup,
  site: Site,
  { pairs, timing, ...tools }: GoTools & { readonly pairs: number; readonly timing: GoTiming },
): Promise<readonly MeasuredRow[]> {
  const measured = group.map((row) => ({ row, pairs: [] as Turns[] }));
  const [first] = group;
  if (first === undefined) return [];
  for (let pair = 0; pair < pairs; pair++) {
    const bed = await startSides(site, first.endpoints, tools);
    try {
      for (const side of bed.sides.values()) side.pause();
      // All of a pair's requests are of one sequence: no prompt comes twice.
      const common = { next: promptsOf(first), scrapes: () => site.scrapes(), inTurn: true };
      await warmUp(bed.sides, first, common);
      for (const { row, pairs: done } of measured) {
        done.push(await measureTurns(bed.sides, { row, timing, common }));
      }
    } finally {
      await bed.stop();
    }
  }
  return measured;
}

/** Every picker gets the same: code is compiled, connections are open, the prefix index is full. */
async function warmUp(sides: Sides, row: GoRow, common: Common): Promise<void> {
  // At full speed also before rows at a constant rate: a picker in use has served many requests.
  const load = { kind: 'closed', connections: 8, bodyBytes: bytesOf(row) } as const;
  for (const [name, side] of sides) {
    let answered = 0;
    const windowsMax = name === 'none' ? 1 : WARM_UP_WINDOWS_MAX;
    for (let window = 0; window < windowsMax && answered < WARM_UP_REQUESTS; window++) {
      const turn = { ...common, side, windowMs: WARM_UP_MS, row: { ...row, load } };
      answered += (await measureSide(turn)).completed;
    }
  }
}

async function measureTurns(
  sides: Sides,
  {
    row,
    timing,
    common,
  }: { readonly row: GoRow; readonly timing: GoTiming; readonly common: Common },
): Promise<Turns> {
  const isOpen = row.load.kind === 'open';
  // Without a picker it is the time that counts, which saturated rows do not have.
  const measured = [...sides].filter(([name]) => isOpen || name !== 'none');
  const turns = new Map<SideName, Round[]>(measured.map(([name]) => [name, []]));
  const windowMs = (isOpen ? OPEN_MS : CLOSED_MS) * (row.lengthened ?? 1);
  const measure = async ([name, side]: readonly [SideName, Side]): Promise<void> => {
    turns.get(name)?.push(await measureSide({ ...common, side, row, windowMs }));
  };
  for (let turn = 0; turn < (isOpen ? timing.openTurns : timing.closedTurns); turn++) {
    // Each side comes early as often as late.
    for (const each of turn % 2 === 0 ? measured : measured.toReversed()) await measure(each);
  }
  return turns;
}

function bytesOf({ load }: GoRow): number {
  return 'bodyBytes' in load ? load.bodyBytes : 0;
}
