import { seededRandom } from '../../../runtime/seeded-random.ts';
import { withSessions } from '../find-sessions.ts';
import { isShaped, shapeTrace, type TraceShape } from '../shape-trace.ts';
import type { Trace, TraceContent } from '../trace.ts';
import { type ReadOptions, readTrace, readTraceTable } from './read-trace.ts';

export interface LoadOptions extends Omit<ReadOptions, 'enough'> {
  readonly shape: TraceShape;
  /** Whether to give each request a session where the trace names none. */
  readonly sessions?: boolean;
}

/** Fixed, so that thinning keeps the same conversations each time. */
const THIN_SEED = 1;

/**
 * Reads a trace for a use that takes one request after another. A trace that is to be shaped has all
 * its requests as objects. Throws as `loadTrace` does.
 */
export function loadTraceContent(
  path: string,
  options: Omit<LoadOptions, 'sessions'>,
): TraceContent {
  const { shape, ...reading } = options;
  return isShaped(shape) ? loadTrace(path, options) : readTraceTable(path, reading);
}

/** Reads and shapes a trace. Throws as `readTrace` and `shapeTrace` do. */
export function loadTrace(path: string, { shape, sessions, ...reading }: LoadOptions): Trace {
  const merged = shape.merge.map((each) => readTrace(each, { lenient: reading.lenient }));
  const random = seededRandom(THIN_SEED).fork('thin');
  const first = readTrace(path, { ...reading, enough: enoughOf(shape) });
  const trace = shapeTrace(first, { merged, shape, random });
  return sessions === true ? noted(withSessions(trace)) : trace;
}

/** How many requests of the file make the shaped trace: all of them, if others come between. */
function enoughOf({ merge, loop, thin, requests }: TraceShape): number | undefined {
  return merge.length === 0 && loop === 1 && thin === 1 ? requests : undefined;
}

function noted(trace: Trace): Trace {
  const { requests, notes } = trace;
  const turns = requests.length - new Set(requests.map(({ session }) => session)).size;
  const sentence = `${turns} of ${requests.length} requests are turns that wait for an answer`;
  return { ...trace, notes: [...notes, sentence] };
}
