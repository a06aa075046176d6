import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Term {
  readonly name: string;
  readonly picked: number;
  readonly runnerUp: number;
  readonly unit: string;
  readonly isPart: boolean;
  readonly isCredit?: boolean;
}

/** The page is plain JavaScript, so that no types come with it. */
const ui = (file: string): Promise<unknown> => import(join(import.meta.dirname, '../../ui', file));
const page = (await ui('terms.js')) as { reasonsOf(terms: readonly Term[]): string };
const list = (await ui('decisions.js')) as { becauseOf(decision: object): string };
const explained = (await ui('explained.js')) as {
  headline(decision: object, nameOf: (id: string) => string): string;
  outOf(decision: object): string;
  heldText(held: object, nameOf: (id: string) => string): string;
  whyHeld(why: readonly string[]): string;
};
const documents = (await ui('documents.js')) as { timesNote(shadows: readonly object[]): string };
const columns = (await ui('pool-columns.js')) as {
  sortedRows(state: object): readonly { readonly id: string }[];
};
const health = (await ui('picker-health.js')) as Record<
  'aboutText' | 'connectionWords' | 'connectionClass' | 'healthSentence',
  (shown: object) => string
>;
const { sharedStart, sharedStartOfPods } = (await ui('format.js')) as Record<
  'sharedStart' | 'sharedStartOfPods',
  (names: string[]) => string
>;
const { withLocalTimes, clock } = (await ui('format.js')) as {
  withLocalTimes(sentence: string, nowMs: number): string;
  clock(wallMs: number): string;
};
const { shortener } = (await ui('format.js')) as {
  shortener(names: readonly string[]): (name: string) => string;
};
const term = (name: string, picked: number, runnerUp: number): Term => ({
  name,
  picked,
  runnerUp,
  unit: 'ms',
  isPart: true,
});

it('[O216] the live page names no difference that it would show as 0.00 ms', () => {
  const almost = term('queueing delay for others', 0.013, 0.014);
  expect(page.reasonsOf([almost, term('own prefill', 1, 1)])).toBe('');
  expect(page.reasonsOf([almost, term('own prefill', 1, 9)])).toBe(
    'It saves 8.0 ms of own prefill.',
  );
});

it('[O410] the live page says what a credit is, and counts it to neither side’s times', () => {
  const credit = { ...term('credit for a new copy', 0, -31.1), isCredit: true };
  expect(page.reasonsOf([credit, term('own prefill', 1, 19.4)])).toBe(
    'It saves 18.4 ms of own prefill. The runner-up has a credit of 31.1 ms for a new copy: requests have lost this time because too few endpoints hold their beginning.',
  );
  expect(page.reasonsOf([{ ...credit, picked: -40, runnerUp: 0 }])).toMatch(
    /^It has a credit of 40\.0 ms for a new copy: /,
  );
});

it('[O300] the live page says what decided where the runner-up would have cost less', () => {
  const profiles = [
    {
      profile: 'p',
      filters: [],
      runnerUp: { endpoint: 'b', scoreBehind: 0.3333, costs: [{ picked: 208, more: -5.7 }] },
    },
  ];
  const decision = { outcome: { kind: 'picked', profile: 'p', endpoint: 'a' }, profiles };
  expect(list.becauseOf(decision)).toBe('ahead by 0.333');
  expect(explained.headline(decision, (id) => id)).toBe(
    'a costs 208 ms; b would have cost 5.7 ms less, and is behind by 0.3333 in score',
  );
  const stale = { ...term('stale', 0, 1), unit: '', isPart: false };
  expect(page.reasonsOf([stale, term('own prefill', 9, 1)])).toBe(
    'The last sample of the runner-up is too old. It takes more: 8.0 ms of own prefill.',
  );
});

it('[O385] the live page says why also for what a promoted shadow decides, and names the shadow', () => {
  const runnerUp = { endpoint: 'b', scoreBehind: 0.1, costs: [{ picked: 20, more: 12 }] };
  const profiles = [{ profile: 'p', filters: [], runnerUp }];
  const outcome = { kind: 'picked', profile: 'p', endpoint: 'a', decidedBy: 'mine.yaml' };
  expect(list.becauseOf({ outcome, profiles })).toBe('12.0 ms better · by mine.yaml');
  // A scheduler elsewhere gives no scores.
  const none = [{ profile: 'p', filters: [] }];
  expect(list.becauseOf({ outcome, profiles: none })).toBe('by mine.yaml');
  const held = { ms: 30 };
  expect(list.becauseOf({ outcome, profiles: none, held })).toBe('held 30.0 ms · by mine.yaml');
  // [O451] The name in the data says nothing of another picker.
  const observed = { ...outcome, decidedBy: 'observed' };
  expect(list.becauseOf({ outcome: observed, profiles: none })).toBe('by the observed picker');
});

it('[O492] the live page says of a trial that it is one, and beside how many others it was made', () => {
  const profiles = [{ profile: 'p', filters: [] }];
  const outcome = { kind: 'picked', profile: 'p', endpoint: 'a' };
  const alone = { outcome, profiles, candidates: 1 };
  expect(list.becauseOf(alone)).toBe('the only one');
  expect(explained.headline(alone, (id) => id)).toBe('a: there was no other');
  expect(explained.outOf(alone)).toBe('1 endpoint');
  const trial = { ...alone, besideTrial: 3 };
  expect(list.becauseOf(trial)).toBe('a trial');
  expect(list.becauseOf({ ...trial, held: { ms: 30 } })).toBe('held 30.0 ms · a trial');
  expect(explained.headline(trial, (id) => id)).toBe('a: the trial of an ejected endpoint');
  expect(explained.outOf(trial)).toBe('1 endpoint: the trial of an ejected one, beside 3 others');
  expect(explained.outOf({ ...trial, besideTrial: 1 })).toMatch(/, beside 1 other$/);
  const promoted = { ...trial, outcome: { ...outcome, decidedBy: 'mine.yaml' } };
  expect(list.becauseOf(promoted)).toBe('a trial · by mine.yaml');
});

it('[O493] the live page names the scheduler elsewhere that decided, and does not say that there was no other endpoint', () => {
  const headline = (decidedBy: string): string =>
    explained.headline(
      {
        outcome: { kind: 'picked', profile: 'p', endpoint: 'a', decidedBy },
        profiles: [{ profile: 'p', filters: [] }],
        candidates: 3,
      },
      (id) => id,
    );
  expect(headline('mine')).toBe('a: decided by mine');
  expect(headline('observed')).toBe('a: decided by the observed picker');
});

it('[O494] the live page says that filters left no other endpoint, where they dropped some', () => {
  const filters = [
    { filter: 'served-model-filter', dropped: 0 },
    { filter: 'decode-filter', dropped: 2 },
  ];
  const decision = {
    outcome: { kind: 'picked', profile: 'p', endpoint: 'a' },
    profiles: [{ profile: 'p', filters }],
    candidates: 3,
  };
  expect(explained.headline(decision, (id) => id)).toBe('a: the filters left no other');
  expect(list.becauseOf(decision)).toBe('the only one left');
});

it('[G208] the live page names the scheduler that refused a request', () => {
  const decision = { outcome: { kind: 'refused', refusedBy: 'mine' }, profiles: [] };
  expect(list.becauseOf(decision)).toBe('by mine');
  expect(explained.headline(decision, (id) => id)).toBe('Refused by the scheduler mine');
});

it('[G211] [G212] the live page says that screening or a plugin refused a request', () => {
  const screened = { outcome: { kind: 'screened' }, profiles: [] };
  expect(list.becauseOf(screened)).toBe('refused');
  expect(explained.headline(screened, (id) => id)).toBe('Refused: screening left no endpoint');
  const rejected = { outcome: { kind: 'rejected', why: 'too many wait' }, profiles: [] };
  expect(list.becauseOf(rejected)).toBe('by a plugin');
  expect(explained.headline(rejected, (id) => id)).toBe('Refused by a plugin: too many wait');
});

it('[O441] the live page says that a request waited until it was refused, and with which sentence', () => {
  const expired = { outcome: { kind: 'expired', why: 'no endpoint could begin it' }, profiles: [] };
  const held = { ms: 600_000 };
  expect(list.becauseOf({ ...expired, held })).toBe('held 10.0 min · in vain');
  expect(explained.headline(expired, (id) => id)).toBe('Refused: no endpoint could begin it');
});

it('[O459] the live page says that chance decides between equals, and only between them', () => {
  const headline = (scoreBehind: number, costs: object[] = []): string =>
    explained.headline(
      {
        outcome: { kind: 'picked', endpoint: 'a', profile: 'p' },
        profiles: [{ profile: 'p', runnerUp: { endpoint: 'b', scoreBehind, costs } }],
      },
      (id) => id,
    );
  const same = [{ picked: 8, runnerUp: 8, more: 0 }];
  expect(headline(0)).toBe('a has the same score as b: chance decides between equals');
  expect(headline(0, same)).toMatch(/would have cost the same: chance decides between equals$/);
  expect(headline(0.0001)).toBe('a has the same score as b');
  expect(headline(0.2, same)).toMatch(/would have cost the same$/);
});

it('[O453] the live page says why no endpoint could be asked', () => {
  const why = 'no endpoint can serve this request: the pool has no endpoint';
  const none = { outcome: { kind: 'no-candidates', why }, profiles: [] };
  expect(list.becauseOf(none)).toBe('refused');
  expect(explained.headline(none, (id) => id)).toBe(`Refused: ${why}`);
});

it('[O455] the pool keeps its order while loads change, with what is wrong first', () => {
  const row = (id: string, state: string, inFlight: number) => ({
    id,
    address: id,
    state,
    inFlight,
  });
  const order = (sort: string, down: boolean, loads: readonly number[]) => {
    const states = ['ok', 'ok', 'ejected', 'stale', 'ok', 'not scraped'];
    const names = ['pod-10', 'pod-9', 'pod-3', 'pod-2', 'pod-1', 'pod-4'];
    const rows = names.map((id, at) => row(id, states[at] ?? 'ok', loads[at] ?? 0));
    const table = { sort, down, text: '' };
    return columns.sortedRows({ pool: { rows }, labels: new Map(), table }).map(({ id }) => id);
  };
  const wanted = ['pod-3', 'pod-4', 'pod-2', 'pod-1', 'pod-9', 'pod-10'];
  expect(order('state', true, [1, 2, 3, 4, 5, 6])).toEqual(wanted);
  expect(order('state', true, [6, 5, 0, 9, 1, 2])).toEqual(wanted);
  const byLoad = ['pod-2', 'pod-1', 'pod-3', 'pod-4', 'pod-9', 'pod-10'];
  expect(order('inFlight', true, [0, 0, 1, 7, 3, 1])).toEqual(byLoad);
});

it('[O440] the live page says what flow control says of a request that it held', () => {
  const name = (id: string): string => id;
  const why = ['when it came, it was full', 'let go'];
  expect(explained.heldText({ ms: 30, why }, name)).toBe('30.0 ms by flow control');
  expect(explained.whyHeld(why)).toBe('When it came, it was full. Let go.');
  expect(explained.heldText({ ms: 30, endpoint: 'pod-a' }, name)).toBe(
    '30.0 ms until pod-a could begin it',
  );
});

it('[O216] the live page leaves out what all endpoints’ names begin with, also of a single one', () => {
  expect(sharedStart(['default/10.0.0.1:8000'])).toBe('default/');
  expect(sharedStart(['a/b/pod-1', 'a/c/pod-2'])).toBe('a/');
  expect(sharedStart(['pod-1'])).toBe('');
});

it('[O251] the live page leaves out what long names of pods begin with, and says what it is', () => {
  const pods = ['ns/vllm-llama-8b-decode-7f9c5d6b8-aaa', 'ns/vllm-llama-8b-decode-7f9c5d6b8-bbb'];
  expect(sharedStartOfPods(pods)).toBe('ns/vllm-llama-8b-decode-7f9c5d6b8-');
  expect(sharedStartOfPods([...pods, 'ns/vllm-llama-70b-1'])).toBe('ns/vllm-llama-');
  expect(sharedStartOfPods([...pods, 'ns/other'])).toBe('ns/');
  expect(sharedStartOfPods(['ns/vllm-1', 'ns/vllm-2'])).toBe('ns/');
  expect(sharedStartOfPods(pods.slice(1))).toBe('ns/');
});

it('[O282] the live page names an endpoint in its decisions as in the table of the pool', () => {
  const nameOf = shortener([
    'ns/vllm-llama-8b-decode-7f9c5d6b8-aaa',
    'ns/vllm-llama-8b-decode-7f9c5d6b8-bbb',
  ]);
  expect(nameOf('ns/vllm-llama-8b-decode-7f9c5d6b8-aaa')).toBe('…aaa');
  // One that has left the pool since.
  expect(nameOf('ns/other')).toBe('ns/other');
  expect(shortener(['ns/vllm-1', 'ns/vllm-2'])('ns/vllm-1')).toBe('vllm-1');
});

it('[O436] the live page says that the picker is not ready, and why, while the connection is live', () => {
  const reasons = ['the picker is draining', 'the endpoints file is refused'];
  const draining = { connection: 'live', health: { state: 'not ready', reasons } };
  expect(health.connectionWords(draining)).toBe('live, not ready');
  expect(health.connectionClass(draining)).toBe('connection live not-ready');
  expect(health.healthSentence(draining)).toBe(
    'The picker is not ready: the picker is draining; the endpoints file is refused.',
  );
  const lost = { ...draining, connection: 'lost' };
  expect(health.connectionWords(lost)).toBe('connection lost, trying again');
  expect(health.healthSentence(lost)).toBe('');
  const well = { connection: 'live', health: { state: 'ready', reasons: [] } };
  expect(health.connectionWords(well)).toBe('live');
  expect(health.healthSentence(well)).toBe('');
});

it('[O461] the live page shows the times in a sentence by its own clock, and the date of another day', () => {
  const wallMs = Date.parse('2026-11-30T12:31:10.986Z');
  const sentence = 'the event loop is 728 ms late (p99) since 2026-11-30T12:31:10.986Z; more';
  const local = (nowMs: number): string => withLocalTimes(sentence, nowMs);
  expect(local(wallMs)).toBe(`the event loop is 728 ms late (p99) since ${clock(wallMs)}; more`);
  expect(local(wallMs + 3 * 86_400_000)).toMatch(/ since 2026-\d\d-\d\d \d\d:\d\d:10; more$/);
  expect(withLocalTimes('at 9999-99-99T99:99Z', wallMs)).toBe('at 9999-99-99T99:99Z');
});

it('[O479] the live page says at its top which shadow decides how much, beside the configuration', () => {
  const picker = { pool: 'llama', policy: 'random' };
  expect(health.aboutText({ picker, promoted: undefined })).toBe(
    'pool llama · configuration random',
  );
  expect(health.aboutText({ picker, promoted: { shadow: 'mine.yaml', percent: 20 } })).toBe(
    'pool llama · configuration random · mine.yaml decides 20 %',
  );
});

it('[O507] says of which shadows times cannot be predicted', () => {
  const shadow = (name: string, predicted: number) => ({
    name,
    parity: { all: { decisions: 9, predicted } },
  });
  expect(documents.timesNote([shadow('a', 9), { name: 'b' }])).toBe('');
  expect(documents.timesNote([shadow('a', 9), shadow('b', 0), shadow('c', 0)])).toMatch(
    /^Times cannot be predicted for b, c, without approx-prefix-cache-producer /,
  );
});
