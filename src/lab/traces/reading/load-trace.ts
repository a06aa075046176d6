import { seededRandom } from '../../../runtime/seeded-random.ts';
import { withSessions } from '../find-sessions.ts';
import { shapeTrace, type TraceShape } from '../shape-trace.ts';
import type { Trace } from '../trace.ts';
import { type ReadOptions, readTrace } from './read-trace.ts';

export interface LoadOptions extends ReadOptions {
  readonly shape: TraceShape;
  /** Whether each request shall have a session, found where the trace does not say. */
  readonly sessions?: boolean;
}

/** Of the conversations that thinning keeps: the same for everybody. */
const THIN_SEED = 1;

/** Reads a trace and makes of it what is asked. Throws as `readTrace` and `shapeTrace` do. */
export function loadTrace(path: string, { shape, sessions, ...reading }: LoadOptions): Trace {
  const merged = shape.merge.map((each) => readTrace(each, { lenient: reading.lenient }));
  const random = seededRandom(THIN_SEED).fork('thin');
  const trace = shapeTrace(readTrace(path, reading), { merged, shape, random });
  return sessions === true ? noted(withSessions(trace)) : trace;
}

function noted(trace: Trace): Trace {
  const { requests, notes } = trace;
  const turns = requests.length - new Set(requests.map(({ session }) => session)).size;
  const sentence = `${turns} of ${requests.length} requests are turns that wait for an answer`;
  return { ...trace, notes: [...notes, sentence] };
}
