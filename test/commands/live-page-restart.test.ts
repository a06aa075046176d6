import { expect, it } from 'vitest';
import type { LiveMessage } from '../../src/serve/live/live-message.ts';

interface PageState {
  readonly restarts: readonly number[];
  readonly steps: readonly { readonly wallMs: number }[];
}
type Values = readonly (number | null)[];

/** The page's own files are checked as JavaScript, apart from the rest. */
const ui = (file: string): string => new URL(`../../ui/${file}`, import.meta.url).href;
const { emptyState, receive, decidedPerSecond, sampledPerSecond } = (await import(
  ui('state.js')
)) as {
  emptyState(): PageState;
  receive(state: PageState, message: LiveMessage): void;
  decidedPerSecond(state: PageState): number;
  sampledPerSecond(state: PageState): number | undefined;
};
const { stretches } = (await import(ui('restarts.js'))) as {
  stretches(times: readonly number[], values: Values, begun: readonly number[]): number[][];
};

const STEP_MS = 2000;

/** What a process says that began at this time, with steps from there to the other one. */
function message(startedMs: number, wallMs: number, isFirst: boolean): LiveMessage {
  const picker = {
    version: '1',
    pool: 'p',
    policy: 'default',
    stepMs: STEP_MS,
    startedMs,
    documents: [],
    explains: true,
  };
  const steps = [];
  for (let at = startedMs - 500; at + STEP_MS <= wallMs; at += STEP_MS)
    steps.push({ wallMs: at, picked: 2, refused: 0, held: 0, failed: 0, ttftMs: null });
  return {
    wallMs,
    ...(isFirst && { picker }),
    totals: { endpoints: 1, inFlight: 0, waiting: 0, viewers: 1 },
    health: { state: 'ready', reasons: [] },
    steps,
    decisions: { made: 0, shown: [] },
  };
}

it('[O393] knows when another process of the picker began, and not that a connection did', () => {
  const state = emptyState();
  receive(state, message(100_000, 110_000, true));
  receive(state, message(100_000, 114_000, false));
  // The connection was lost for a moment.
  receive(state, message(100_000, 120_000, true));
  expect(state.restarts).toEqual([]);
  receive(state, message(130_000, 136_000, true));
  expect(state.restarts).toEqual([130_000]);
  for (let start = 0; start < 100; start++) {
    const at = 200_000 + 10_000 * start;
    receive(state, message(at, at + 100, true));
  }
  expect(state.restarts).toHaveLength(20);
});

it('[O393] draws no line from the last value of one process to the first of the next', () => {
  const state = emptyState();
  receive(state, message(100_000, 110_000, true));
  receive(state, message(130_000, 136_000, true));
  const times = state.steps.map(({ wallMs }) => wallMs);
  const begun = state.restarts.map((at) => at - STEP_MS);
  const places = (values: Values): number[][] => stretches(times, values, begun);
  expect(times).toEqual([99_500, 101_500, 103_500, 105_500, 107_500, 129_500, 131_500, 133_500]);
  expect(places(times)).toEqual([
    [0, 1, 2, 3, 4],
    [5, 6, 7],
  ]);
  // Steps without a value are bridged within a process.
  expect(places([1, null, null, 2, null, null, 3, null])).toEqual([[0, 3], [6]]);
  expect(places([null, null, null, null, null, 1, null, 2])).toEqual([[5, 7]]);
});

it('[O482] counts decisions each second by the step that the chart shows last', () => {
  const state = emptyState();
  expect(decidedPerSecond(state)).toBe(0);
  receive(state, message(100_000, 104_000, true));
  const busy = { picked: 140, refused: 0, held: 0, failed: 0, ttftMs: null };
  const next = message(100_000, 105_000, false);
  const shown = { made: 60, shown: [] };
  receive(state, { ...next, steps: [{ ...busy, wallMs: 104_500 }], decisions: shown });
  // 60 in the last second, but 140 in the last step of two seconds.
  expect(decidedPerSecond(state)).toBe(70);
  expect(sampledPerSecond(state)).toBe(0);
});

it('[O482] says of no sample where every decision came to the page', () => {
  const state = emptyState();
  receive(state, message(100_000, 104_000, true));
  receive(state, message(100_000, 105_000, false));
  expect(sampledPerSecond(state)).toBeUndefined();
});
