import type { Random } from '../../../src/framework/runtime.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { drawnBelow } from '../../support/drawn.ts';

/** A request as a client sends it, and what its server makes of it. */
export interface DrawnRequest {
  readonly id: string;
  readonly at: number;
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  readonly priority: number;
  readonly firstTokenMs: number;
  readonly outputTokens: number;
  /** How long it runs after its first token. */
  readonly runsMs: number;
  readonly fails: boolean;
}

const WORDS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta'];
/** Long enough for many blocks, and the same in every request that begins with it. */
const BEGINNINGS = WORDS.map((word) => `${word} `.repeat(400));
const MEDIA: readonly object[] = [
  { type: 'image_url', image_url: { url: 'https://a.example/1.png' } },
  { type: 'image_url', image_url: { url: 'https://a.example/2.png' } },
  { type: 'video_url', video_url: { url: 'https://a.example/3.mp4' } },
  { type: 'audio_url', audio_url: { url: 'https://a.example/4.wav' } },
  { type: 'input_audio', input_audio: { data: 'UklGR'.repeat(9000), format: 'wav' } },
];

function bodyOf(random: Random, session: number, turn: number): object {
  const beginning = BEGINNINGS[session % BEGINNINGS.length] ?? '';
  const turns = `${'more of it '.repeat(20)}${session}. `.repeat(turn);
  const text = `${beginning.slice(0, (1 + drawnBelow(random, 4)) * 600)}${turns}`;
  const media = random.next() < 0.3 ? [MEDIA[drawnBelow(random, MEDIA.length)] ?? {}] : [];
  const limit = random.next() < 0.5 ? { max_tokens: 1 + drawnBelow(random, 900) } : {};
  const messages = [{ role: 'user', content: [{ type: 'text', text }, ...media] }];
  return { model: ['m', 'adapter', 'm2'][drawnBelow(random, 3)], stream: true, messages, ...limit };
}

/** Token ids: engines publish blocks of the same. */
export function tokenIds(session: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => 100 * session + (at % 97));
}

function headersOf(random: Random, session: number): ReadonlyMap<string, string> {
  const some = (chance: number, name: string, value: string): readonly [string, string][] =>
    random.next() < chance ? [[name, value]] : [];
  return new Map([
    ['x-session-id', `s${session}`],
    ['cookie', `session=c${session % 5}; other=o${session % 2}`],
    ['x-who', `who-${session % 3}`],
    ['x-role', ['decode', 'prefill'][session % 2] ?? ''],
    ...some(
      0.8,
      'x-llm-d-inference-fairness-id',
      ['free', 'paid', 'team'][drawnBelow(random, 3)] ?? '',
    ),
    ...some(0.3, 'epp-profile', ['decode', 'other'][drawnBelow(random, 2)] ?? ''),
    ...some(0.5, 'x-profile', 'other'),
    ...some(0.3, 'x-revision', ['a', 'b'][drawnBelow(random, 2)] ?? ''),
    ...some(0.2, 'x-llm-d-disagg-revision', ['a', 'b'][drawnBelow(random, 2)] ?? ''),
    ...some(0.3, 'x-llm-d-slo-ttft-ms', ['40', '400', '4000'][drawnBelow(random, 3)] ?? ''),
  ]);
}

/** `count` requests of one seed, in bursts, as long as `spanMs`. */
export function drawnRequests(seed: number, count: number, spanMs: number): DrawnRequest[] {
  const random = seededRandom(seed);
  const turns = new Map<number, number>();
  let at = 100;
  return Array.from({ length: count }, (_, number): DrawnRequest => {
    at += random.next() < 0.6 ? drawnBelow(random, 8) : drawnBelow(random, (4 * spanMs) / count);
    const session = drawnBelow(random, 8);
    const turn = turns.get(session) ?? 0;
    turns.set(session, turn + 1);
    const isTokens = random.next() < 0.25;
    const ids = {
      model: 'm',
      stream: true,
      prompt: tokenIds(session, 64 * (1 + drawnBelow(random, 9))),
    };
    const headers = headersOf(random, session);
    const name = 'x-llm-d-inference-fairness-id';
    // A third of the clients says whose request it is in a header of its own.
    return {
      id: `r${number}`,
      at,
      path: isTokens ? '/v1/completions' : '/v1/chat/completions',
      headers: number % 3 === 0 ? new Map([...headers].filter(([key]) => key !== name)) : headers,
      body: JSON.stringify(isTokens ? ids : bodyOf(random, session, turn)),
      priority: [-1, 0, 0, 5][drawnBelow(random, 4)] ?? 0,
      firstTokenMs: 5 + drawnBelow(random, 300),
      outputTokens: 1 + drawnBelow(random, 400),
      runsMs: 20 + drawnBelow(random, 3000),
      fails: random.next() < 0.03,
    };
  });
}
