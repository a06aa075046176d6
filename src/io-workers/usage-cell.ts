import {
  LIMIT_REFUSALS,
  type StreamsElsewhere,
  type StreamUsage,
} from '../extproc/streams/open-streams.ts';

/** Two for what streams take, and one for each code, in order. */
const CELLS = 2 + LIMIT_REFUSALS.length;

/** Memory in which an I/O worker leaves what its streams take, so that a scrape asks no worker. */
export function newUsageCell(): Float64Array<SharedArrayBuffer> {
  return new Float64Array(new SharedArrayBuffer(CELLS * Float64Array.BYTES_PER_ELEMENT));
}

/** Leaves in the cell what the streams of its worker take. */
export function writeUsage(
  cell: Float64Array,
  { openStreams, heldBytes, refused }: StreamUsage,
): void {
  cell[0] = openStreams;
  cell[1] = heldBytes;
  for (const [index, code] of LIMIT_REFUSALS.entries()) cell[2 + index] = refused.get(code) ?? 0;
}

/** What the workers of the other cells take of the limits of all. */
export function usageElsewhere(
  own: Float64Array,
  cells: readonly Float64Array[],
): StreamsElsewhere {
  const others = cells.filter((cell) => cell !== own);
  const sum = (index: number): number => others.reduce((all, cell) => all + (cell[index] ?? 0), 0);
  return {
    threads: cells.length,
    openStreams: () => sum(0),
    heldBytes: () => sum(1),
    note: (openStreams, heldBytes) => {
      own[0] = openStreams;
      own[1] = heldBytes;
    },
  };
}

/** The sums of all cells. */
export function readUsage(
  cells: readonly Float64Array[],
): Pick<StreamUsage, 'openStreams' | 'heldBytes' | 'refused'> {
  const sum = (index: number): number => cells.reduce((all, cell) => all + (cell[index] ?? 0), 0);
  const refused = new Map(LIMIT_REFUSALS.map((code, index) => [code, sum(2 + index)]));
  return { openStreams: sum(0), heldBytes: sum(1), refused };
}

/** The worker of this cell is gone: its streams with it, but not what has been counted. */
export function retireUsage(cell: Float64Array, into: Float64Array): void {
  for (let index = 2; index < CELLS; index++) into[index] = (into[index] ?? 0) + (cell[index] ?? 0);
  cell.fill(0);
}
