import type { Profiler } from '../../runtime/process/profiler.ts';
import { HttpError } from './admin-routes.ts';

/** The paths at which the reference has Go's profiles. */
const [INDEX, CPU, HEAP] = ['/debug/pprof/', '/debug/pprof/profile', '/debug/pprof/heap'];
/** Go's limit for the CPU; a connection without traffic is cut a little later than the longest. */
const SECONDS = { [CPU]: 30, [HEAP]: 5 };
const SECONDS_MAX = 60;

/** Profiles of the process by path, as JSON for the developer tools of a browser. */
export function profilePages(
  profiler: Profiler,
): ReadonlyMap<string, (query: URLSearchParams) => Promise<string>> {
  let busy = false;
  const taken =
    (path: string, take: (ms: number) => Promise<string>) =>
    async (query: URLSearchParams): Promise<string> => {
      const seconds = secondsOf(query.get('seconds') ?? String(SECONDS[path]));
      if (busy) throw new HttpError(400, 'a profile is being taken: ask again when it is done');
      busy = true;
      try {
        return await take(seconds * 1000);
      } finally {
        busy = false;
      }
    };
  return new Map([
    [INDEX, () => Promise.resolve(`${JSON.stringify(WHAT, undefined, 2)}\n`)],
    [CPU, taken(CPU, (ms) => profiler.cpu(ms))],
    [HEAP, taken(HEAP, (ms) => profiler.heap(ms))],
  ]);
}

const WHAT = {
  [CPU]: 'what takes CPU time in the next ?seconds=30: save it as picker.cpuprofile',
  [HEAP]: 'what is allocated in the next ?seconds=5 and kept: save it as picker.heapprofile',
};

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && seconds > 0 && seconds <= SECONDS_MAX) return seconds;
  throw new HttpError(400, `seconds is ${text}: it must be above 0 and at most ${SECONDS_MAX}`);
}
