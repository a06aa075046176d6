import { expect, it } from 'vitest';
import type { LiveMessage } from '../../serve/live/live-message.ts';
import { afterMessage, type TopState, topText } from './top-text.ts';

const [FIRST, SECOND] = [
  'ns/vllm-llama-70b-decode-7c9f8d6b5-xk2lq-rank-0',
  'ns/vllm-llama-70b-decode-7c9f8d6b5-p9v4z-rank-0',
];

/** A pool of two endpoints whose last request went to the first, before this runner-up. */
function decided(
  runnerUp: { readonly scoreBehind: number; readonly costs: object[] },
  decidedBy?: string,
): TopState {
  const row = { state: 'ok', inFlight: 0, prefillTokens: 0, sample: null, hitRate: null };
  const decision = {
    id: 'f07d64285859-15',
    requestId: '',
    promptTokens: 9725,
    outcome: { kind: 'picked', profile: 'default', endpoint: FIRST, score: 1, decidedBy },
    profiles: [{ profile: 'default', runnerUp: { endpoint: SECOND, ...runnerUp } }],
  };
  const message = {
    picker: { pool: 'p', policy: 'default', version: '1', stepMs: 1000, explains: true },
    totals: { endpoints: 2, inFlight: 0, waiting: 0, viewers: 1 },
    health: { state: 'ready', reasons: [] },
    steps: [],
    pool: {
      rows: [
        { ...row, id: FIRST },
        { ...row, id: SECOND },
      ],
      notShown: 0,
    },
    decisions: { made: 1, shown: [decision] },
  };
  const state = afterMessage(undefined, message as unknown as LiveMessage);
  if (state === undefined) throw new Error('the message has no picker');
  return state;
}

it('[O409] gives rates and times whole or not at all, and marks what it cuts, on 60 columns', () => {
  const state = decided({ scoreBehind: 0.1, costs: [{ more: 393 }] });
  const ttftMs = { count: 9, median: 1318, predictedMedian: 1292, p95: 4318 };
  const step = { wallMs: 0, picked: 12_345, held: 12_345, refused: 12_345, failed: 12_345, ttftMs };
  const text = topText({ ...state, steps: [step] }, { lines: 40, columns: 60 });
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
  expect(text).toMatch(/^decided 12,345\.0\/s {3}refused 12,345\.0\/s {3}█$/m);
  expect(text).toMatch(/^first token {2}median 1\.3 s {3}predicted 1\.3 s$/m);
  expect(text).toMatch(/^ {2}request {3,}went to {3,}because$/m);
  expect(text).toMatch(/393 ms better than .*…$/m);
});

it('[O283] [D463] shows the ends of long names of pods in a narrow terminal, and all of them in a pipe', () => {
  const state = decided({ scoreBehind: 0.1, costs: [{ more: 393 }] });
  const narrow = topText(state, { lines: 23, columns: 80 });
  expect(narrow).toMatch(/…c9f8d6b5-xk2lq +393 ms better than …c9f8d6b5-p9v4z\n/);
  expect(narrow).toMatch(/^ {2}…c9f8d6b5-xk2lq +ok/m);
  const piped = topText(state, { lines: 23, columns: Number.POSITIVE_INFINITY });
  expect(piped).toMatch(/393 ms better than vllm-llama-70b-decode-7c9f8d6b5-p9v4z\n/);
});

it('[O385] says why also for what a promoted shadow decides, and names the shadow', () => {
  const state = decided({ scoreBehind: 0.1, costs: [{ more: 393 }] }, 'mine.yaml');
  const piped = topText(state, { lines: 23, columns: Number.POSITIVE_INFINITY });
  expect(piped).toMatch(/393 ms better than \S+-p9v4z, decided by mine\.yaml\n/);
});

it('[O451] says in words that another picker decided, which an observer looks at', () => {
  const state = decided({ scoreBehind: 0.1, costs: [] }, 'observed');
  const piped = topText(state, { lines: 23, columns: Number.POSITIVE_INFINITY });
  expect(piped).toMatch(/, decided by the observed picker\n/);
});

it('[O368] leaves a column out that a line has no room for, and cuts none', () => {
  const state = decided({ scoreBehind: 0.1, costs: [{ more: 393 }] });
  const [row] = state.rows;
  if (row === undefined) throw new Error('the state has no endpoint');
  const sample = { ageMs: 6.02, running: 3, waiting: 0, kv: 1 };
  const rows = ['not scraped', 'ok'].map((each) => ({ ...row, sample, state: each }));
  const headAt = (columns: number): string | undefined =>
    topText({ ...state, rows: rows as typeof state.rows }, { lines: 23, columns })
      .split('\n')
      .find((line) => line.includes('endpoint  '));
  expect(headAt(120)).toMatch(/in flight {2}prefill {2}running {2}queue .* hits {5}age$/);
  expect(headAt(80)).toMatch(/in flight {2}prefill {2}running {2}queue .* hits$/);
  expect(headAt(64)).toMatch(/in flight {2}queue .* hits$/);
});

it('[O370] draws no more lines than the terminal has, and says first what is wrong', () => {
  const state = decided({ scoreBehind: 0.1, costs: [{ more: 393 }] });
  const [row] = state.rows;
  const [decision] = state.decisions;
  if (row === undefined || decision === undefined) throw new Error('the state is empty');
  const of = (state: 'ok' | 'ejected', port: number) => {
    const address = `10.0.0.1:${port}`;
    const why = `http://${address}/metrics: connect ECONNREFUSED ${address}`;
    return { ...row, id: address, address, state, ...(state === 'ok' ? {} : { why }) };
  };
  const crowded: TopState = {
    ...state,
    rows: Array.from({ length: 30 }, (_, at) => of(at < 20 ? 'ok' : 'ejected', 8000 + at)),
    decisions: Array.from({ length: 10 }, () => decision),
  };
  const shown = topText(crowded, { lines: 23, columns: 80 }).trimEnd().split('\n');
  expect(shown).toHaveLength(23);
  expect(shown[0]).toContain('configuration default');
  // The whole cause fits into a line.
  expect(shown).toContain(
    '  10.0.0.1:8020 and 8 others are ejected: /metrics: connect ECONNREFUSED',
  );
  expect(shown).toContain('… and 21 more endpoints');
  expect(shown.filter((line) => line.includes('better than'))).toHaveLength(3);
  const many = topText(crowded, { lines: 99, columns: 80 });
  expect(many).not.toContain('more endpoints');
  expect(many.match(/better than/g)).toHaveLength(10);
  expect(topText(crowded, { lines: 9, columns: 80 }).trimEnd().split('\n')).toHaveLength(9);
  const empty = { ...state, rows: [], whyEmpty: 'the endpoints file names no model server' };
  empty.message = { ...state.message, totals: { ...state.message.totals, endpoints: 0 } };
  expect(topText(empty, { lines: 23, columns: 80 })).toContain('endpoints 0: the endpoints file');
});

it('[O436] says what /readyz says, a line for each reason, and takes their room from the pool', () => {
  const state = decided({ scoreBehind: 0.1, costs: [{ more: 393 }] });
  const [row] = state.rows;
  if (row === undefined) throw new Error('the state has no endpoint');
  const rows = Array.from({ length: 30 }, () => row);
  const reasons = ['the picker is draining', 'the endpoints file is refused'];
  const message: LiveMessage = { ...state.message, health: { state: 'not ready', reasons } };
  const lines = topText({ ...state, message, rows }, { lines: 23, columns: 80 }).split('\n');
  expect(lines.slice(1, 4)).toEqual([
    'not ready: the picker is draining',
    'not ready: the endpoints file is refused',
    '',
  ]);
  expect(lines.some((line) => line.includes('better than'))).toBe(true);
});

it.each([
  [0, [{ more: 0.04 }], 'as good as '],
  [0.0004, [], 'as good as '],
  [0.25, [], '0.250 ahead of '],
  [0.25, [], ' in score'],
  [0.25, [], ' 9,725 '],
  // Other scores than the cost decided.
  [0.1, [{ more: -5.7 }], '0.100 ahead of '],
])(
  '[O300] [O353] [O490] says of a pick that is %d ahead in score, with the costs %j: “%s”',
  (scoreBehind, costs, because) => {
    const shown = topText(decided({ scoreBehind, costs }), { lines: 23, columns: 120 });
    expect(shown).toContain(because);
  },
);

it('[T57] fits the names of endpoints beside all columns, that of roles too', () => {
  const sample = { ageMs: 50, running: 3, waiting: 0, kv: 1 };
  const row = { state: 'not scraped', inFlight: 1, prefillTokens: 0, sample, hitRate: 1 };
  const id = 'vllm-llama-70b-7c9f8d6b5-xk2lq';
  const message = {
    picker: { pool: 'p', policy: 'default', version: '1', stepMs: 1000, explains: false },
    totals: { endpoints: 1, inFlight: 0, waiting: 0, viewers: 1 },
    health: { state: 'ready', reasons: [] },
    steps: [],
    pool: { rows: [{ ...row, id, role: 'prefill' }], notShown: 0 },
    decisions: { made: 0, shown: [] },
  };
  const state = afterMessage(undefined, message as unknown as LiveMessage);
  if (state === undefined) throw new Error('the message has no picker');
  expect(topText(state, { lines: 23, columns: 100 })).toMatch(
    /^ {2}….{16} +not scraped.* 50\.0 ms$/m,
  );
});

it('[O250] says since when there were no first tokens, not the last time as that of now', () => {
  const step = { wallMs: 0, picked: 0, refused: 0, held: 0, failed: 0, ttftMs: null };
  const ttftMs = { count: 1, median: 80, p95: 90, predictedMedian: 70 };
  const message = {
    picker: { pool: 'p', policy: 'default', version: '1', stepMs: 1000, explains: true },
    totals: { endpoints: 1, inFlight: 0, waiting: 0, viewers: 1 },
    health: { state: 'ready', reasons: [] },
    decisions: { made: 0, shown: [] },
  };
  const textOf = (lastMs: number): string => {
    const steps = [
      { ...step, ttftMs },
      { ...step, wallMs: lastMs },
    ];
    const state = afterMessage(undefined, { ...message, steps } as unknown as LiveMessage);
    if (state === undefined) throw new Error('the message has no picker');
    return topText(state, { lines: 23, columns: 99 });
  };
  expect(textOf(10_000)).toContain('first token  median 80');
  expect(textOf(11_000)).toContain('first token: none for 11 s, the last median was 80');
});
