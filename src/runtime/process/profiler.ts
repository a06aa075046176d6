import type { Session } from 'node:inspector/promises';
import type { Clock, Millis } from '../../framework/runtime.ts';

/** Between two samples: some hundredths of a core's time. */
const SAMPLE_MICROS = 1000;
/** An object is sampled for each so many bytes allocated. */
const HEAP_SAMPLE_BYTES = 64 * 1024;

/** Profiles of this process, as V8 makes them. */
export interface Profiler {
  /** What took CPU time during the next `ms`: the JSON of a `.cpuprofile`. */
  cpu(ms: Millis): Promise<string>;
  /** What was allocated during the next `ms` and is still in use: JSON of a `.heapprofile`. */
  heap(ms: Millis): Promise<string>;
}

/** Costs nothing while no profile is taken. One can be taken at a time. */
export function createProfiler(clock: Clock): Profiler {
  const wait = (ms: Millis): Promise<void> =>
    new Promise((resolve) => void clock.setTimer(ms, resolve));
  return {
    cpu: (ms) =>
      inSession(async (session) => {
        await session.post('Profiler.enable');
        await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROS });
        await session.post('Profiler.start');
        await wait(ms);
        const { profile } = await session.post('Profiler.stop');
        return JSON.stringify(profile);
      }),
    heap: (ms) =>
      inSession(async (session) => {
        await session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_SAMPLE_BYTES });
        await wait(ms);
        const { profile } = await session.post('HeapProfiler.stopSampling');
        return JSON.stringify(profile);
      }),
  };
}

async function inSession(use: (session: Session) => Promise<string>): Promise<string> {
  // Few processes are ever profiled.
  const inspector = await import('node:inspector/promises');
  const session = new inspector.Session();
  session.connect();
  try {
    return await use(session);
  } finally {
    session.disconnect();
  }
}
