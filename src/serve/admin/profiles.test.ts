import { expect, test } from 'vitest';
import { nodeClock } from '../../runtime/clock/node-clock.ts';
import { createProfiler, type Profiler } from '../../runtime/process/profiler.ts';
import { profilePages } from './profiles.ts';

const asked: [kind: string, ms: number][] = [];
const recording: Profiler = {
  cpu: (ms) => {
    asked.push(['cpu', ms]);
    return Promise.resolve('{}');
  },
  heap: (ms) => {
    asked.push(['heap', ms]);
    return Promise.resolve('{}');
  },
};
const ask = async (profiler: Profiler, path: string, query = ''): Promise<string> =>
  (await profilePages(profiler).get(path)?.(new URLSearchParams(query))) ?? '';

test('[D103] profiles are at the paths of Go’s, for as long as is asked', async () => {
  await ask(recording, '/debug/pprof/profile', 'seconds=2');
  await ask(recording, '/debug/pprof/profile');
  await ask(recording, '/debug/pprof/heap');
  expect(asked).toEqual([
    ['cpu', 2000],
    ['cpu', 30_000],
    ['heap', 5000],
  ]);
  expect(await ask(recording, '/debug/pprof/')).toContain('/debug/pprof/heap');
});

test.each(['0', '61', 'soon', '-1', ' '])('[D103] %j seconds are refused', async (seconds) => {
  const profile = ask(recording, '/debug/pprof/profile', `seconds=${seconds}`);
  await expect(profile).rejects.toThrow('must be above 0 and at most 60');
});

test('[D103] one profile is taken at a time', async () => {
  const going = Promise.withResolvers<string>();
  const pages = profilePages({ ...recording, cpu: () => going.promise });
  const page = pages.get('/debug/pprof/profile');
  const first = page?.(new URLSearchParams());
  await expect(page?.(new URLSearchParams())).rejects.toThrow('a profile is being taken');
  going.resolve('{"nodes":[]}');
  expect(await first).toBe('{"nodes":[]}');
  await expect(page?.(new URLSearchParams())).resolves.toBe('{"nodes":[]}');
});

test('[D103] they are V8’s profiles of this process', async () => {
  const profiler = createProfiler(nodeClock());
  expect(JSON.parse(await profiler.cpu(20))).toMatchObject({ nodes: expect.any(Array) });
  expect(JSON.parse(await profiler.heap(20))).toMatchObject({ head: expect.any(Object) });
});
