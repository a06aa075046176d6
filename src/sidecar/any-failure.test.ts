import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { CountedClock } from '../../test/support/counted-clock.ts';
import {
  ANSWER_FAULTS,
  type AnswerFault,
  BROKEN_OFF,
  OF_SIDECAR,
  WELL,
} from '../../test/support/sidecar/answer-faults.ts';
import {
  type ScriptedServer,
  startScriptedServer,
  type Visit,
} from '../../test/support/sidecar/scripted-server.ts';
import { SidecarBed } from '../../test/support/sidecar/sidecar-bed.ts';
import {
  complete,
  metric,
  openRequests,
  outcomes,
} from '../../test/support/sidecar/sidecar-client.ts';
import { isAtOnce, KV, WALKS, type Walk } from '../../test/support/sidecar/walks.ts';
import { portOf } from '../framework/values/server-address.ts';
import type { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { SIDECAR_BOUNDS, SIDECAR_DEFAULTS } from './options/sidecar-options.ts';
import type { Sidecar } from './start-sidecar.ts';

/**
 * Requests of every API, whole or streamed, with every contract, while the prefilling server and
 * the engine each answer well or fail in some way, and some clients leave.
 */

const SEED = 506;
const CASES = 150;
/** As many as `CASES=4000 npx vitest run …` says, from `FIRST_CASE` on, to look for more. */
const { FIRST_CASE = '0', CASES: wanted = String(CASES) } = process.env;

const { firstByteTimeoutMs, prefillTimeoutMs } = SIDECAR_BOUNDS;
/** Between two steps of the time there is some for what they have caused. */
const PAUSE_POLLS = 8;

const APIS: readonly (readonly [path: string, body: object])[] = [
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }], max_tokens: 9 }],
  ['/v1/completions', { prompt: 'hello', max_tokens: 9, min_tokens: 3 }],
  ['/v1/responses', { input: 'hello', max_output_tokens: 9 }],
  ['/v1/messages', { messages: [{ role: 'user', content: 'hello' }], max_tokens: 9 }],
  ['/inference/v1/generate', { token_ids: [1, 2, 3], sampling_params: { max_tokens: 9 } }],
  ['/generate', { input_ids: [1, 2, 3], sampling_params: { max_new_tokens: 9 } }],
];
const CONTRACTS = WALKS.filter(
  ({ pieces, firstAnswer, encodes }) => !pieces && !firstAnswer && !encodes,
);
const WHOLE = JSON.stringify({ id: 'x', text: 'said' });
const EVENTS = 'data: {"text":"said"}\n\ndata: [DONE]\n\n';
const PREFILLED = JSON.stringify({ id: 'p', kv_transfer_params: KV });

interface Case {
  readonly walk: Walk;
  readonly path: string;
  readonly body: string;
  readonly streamed: boolean;
  readonly prefill: AnswerFault;
  readonly engine: AnswerFault;
  /** The client leaves when so many requests have come to servers; Infinity: it stays. */
  readonly leavesAt: number;
}

function drawn(index: number): Case {
  const random = seededRandom(SEED * 1_000_000 + index);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)] as T;
  const answer = (): AnswerFault => (random.next() < 0.3 ? WELL : pick(ANSWER_FAULTS));
  const streamed = random.next() < 0.5;
  const [path, rest] = pick(APIS);
  return {
    walk: pick(CONTRACTS),
    path,
    body: JSON.stringify({ model: 'm', ...rest, ...(streamed && { stream: true }) }),
    streamed,
    prefill: answer(),
    engine: answer(),
    leavesAt: random.next() < 0.15 ? pick([1, 2]) : Number.POSITIVE_INFINITY,
  };
}

const nameOf = ({ walk, path, streamed, prefill, engine, leavesAt }: Case): string =>
  `${walk.name}, ${path}${streamed ? ' streamed' : ''}, prefill: ${prefill.name}, engine: ${engine.name}${
    leavesAt < Number.POSITIVE_INFINITY ? `, the client leaves at request ${leavesAt}` : ''
  }`;

const bed = new SidecarBed();
afterEach(() => bed.end());

/** Answers all requests that come; `visits` are those that have come. */
async function serve(
  server: ScriptedServer,
  visits: Visit[],
  answer: (visit: Visit) => unknown,
): Promise<void> {
  for (;;) {
    const visit = await server.next();
    visits.push(visit);
    visit.response.on('error', () => undefined);
    await answer(visit);
  }
}

interface Result {
  readonly sidecar: Sidecar;
  readonly status: number | undefined;
  /** Undefined where it broke off. */
  readonly text: string | undefined;
  readonly atEngine: readonly Visit[];
  readonly clientLeft: boolean;
}

async function run({ walk, path, body, streamed, ...one }: Case): Promise<Result> {
  const { engine, prefiller, clock } = await bed.begin();
  const [bootstrap, closed] = [await startScriptedServer(), await startScriptedServer()];
  bed.stops.push(bootstrap.stop);
  await closed.stop();
  const counted = new CountedClock(clock);
  const sidecar = await bed.started({
    mooncakeBootstrapPort: Number(portOf(bootstrap.address)),
    sglangBootstrapPort: Number(portOf(bootstrap.address)),
    ...walk.options,
    engine: one.engine.answer === undefined ? closed.address : engine.address,
    clock: counted,
  });
  const leaving = new AbortController();
  const [atEngine, atPrefiller]: [Visit[], Visit[]] = [[], []];
  const answerBy =
    ({ answer }: AnswerFault, text: string, type: string) =>
    (visit: Visit): unknown => {
      if (atEngine.length + atPrefiller.length < one.leavesAt) return answer?.(visit, text, type);
      return leaving.abort();
    };
  const type = streamed ? 'text/event-stream' : 'application/json';
  void serve(bootstrap, [], ({ response }) => response.end('{"0":{"engine_id":"e"}}'));
  void serve(prefiller, atPrefiller, answerBy(one.prefill, PREFILLED, 'application/json'));
  void serve(engine, atEngine, answerBy(one.engine, streamed ? EVENTS : WHOLE, type));
  const named = one.prefill.answer === undefined ? closed.address : prefiller.address;
  const headers = walk.prefills === false ? {} : { 'x-prefiller-host-port': named };
  let [status, text]: [number | undefined, string | undefined] = [undefined, undefined];
  let isOver = false;
  void complete(sidecar, { path, body, headers, signal: leaving.signal, redirect: 'manual' })
    .then(async (response) => {
      ({ status } = response);
      text = await response.text();
    })
    .catch(() => undefined)
    .finally(() => (isOver = true));
  let polls = 0;
  await eventually(
    () => {
      polls += 1;
      // Where a server was asked that does not go on, time passes; else it does for retries.
      const waits = polls % PAUSE_POLLS === 0;
      if (waits && one.engine.silent && atEngine.length > 0) pass(firstByteTimeoutMs, clock);
      else if (waits && one.prefill.silent && atPrefiller.length > 0) pass(prefillTimeoutMs, clock);
      else pass(SIDECAR_DEFAULTS.prefillRetryBackoffMs, clock);
      return isOver && counted.openTimers === 0;
    },
    (isDone) => isDone,
    400,
  );
  await Promise.all([...atEngine, ...atPrefiller].map((visit) => visit.closed));
  return { sidecar, status, text, atEngine, clientLeft: leaving.signal.aborted };
}

function pass(delayMs: number, clock: SimulatedClock): void {
  clock.advanceTo(clock.now() + delayMs);
}

const OUTCOMES = ['answered', 'refused', 'engine-failed', 'client-gone', 'cut'];

async function countedAs(sidecar: Sidecar): Promise<readonly string[]> {
  const counts = await Promise.all(OUTCOMES.map((each) => outcomes(sidecar, each)));
  return OUTCOMES.flatMap((each, index) => Array<string>(counts[index] ?? 0).fill(each));
}

/** Whether the engine was asked as the client has asked it, in the end. */
function expectWhatTheEngineGot({ walk, prefill, engine, body }: Case, atEngine: readonly Visit[]) {
  if (walk.prefills === false) expect(atEngine.map((visit) => visit.body)).toEqual([body]);
  else if (isAtOnce(walk)) return;
  else if (prefill.serves !== true || engine.status >= 500) {
    expect(atEngine.at(-1)?.body).toBe(body);
  } else {
    expect(atEngine.length).toBe(1);
    expect(atEngine[0]?.body).not.toBe(body);
  }
}

const cases = Array.from({ length: Number(wanted) }, (_, index) => Number(FIRST_CASE) + index);

it.each(cases.map((index) => [index, nameOf(drawn(index))] as const))(
  '[V506] whichever servers fail, the client has one answer, and nothing is left: %i, %s',
  async (index) => {
    const one = drawn(index);
    const { sidecar, status, text, atEngine, clientLeft } = await run(one);
    const counted = await eventually(
      () => countedAs(sidecar),
      (found) => found.length > 0,
    );
    expect(counted.length).toBe(1);
    expect(await openRequests(sidecar)).toBe(0);
    expect(await metric(sidecar, 'pointsman_sidecar_buffered_bytes')).toBe(0);
    if (clientLeft) return;
    const said = one.engine.text ?? (one.streamed ? EVENTS : WHOLE);
    expect(status).toBe(one.engine.status);
    if (said === OF_SIDECAR) expect(JSON.parse(text ?? '')).toHaveProperty('error.message');
    else expect(text).toBe(said === BROKEN_OFF ? undefined : said);
    if (said !== OF_SIDECAR) expectWhatTheEngineGot(one, atEngine);
  },
);
