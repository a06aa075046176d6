import { type PoolSpec, uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { LORA_DEFAULTS } from '../../stub-server/engine/lora-slots.ts';
import { burstyArrivals, logNormal, zipf } from './arrivals.ts';
import { type ConversationShape, conversations } from './conversations.ts';
import { mixedPool, presetServer, studyServer } from './pools.ts';
import type { Scenario } from './scenario.ts';

/** Sessions of a small run, as a share of a full one's. */
const SMALL_SHARE = 0.15;

function scenario(
  name: string,
  about: string,
  pool: (horizonMs: number) => PoolSpec,
  shape: Omit<ConversationShape, 'starts'> & { readonly everyMs: number; readonly burst?: number },
): Scenario {
  return {
    name,
    about,
    build(seed, size) {
      const random = seededRandom(seed).fork(name);
      const sessions = Math.round(shape.sessions * (size === 'small' ? SMALL_SHARE : 1));
      const { everyMs, burst = 1 } = shape;
      const starts = burstyArrivals(random, {
        count: sessions,
        meanMs: everyMs,
        burst,
        phaseMs: 20_000,
      });
      const horizonMs = sessions * everyMs;
      const workload = conversations(
        { ...shape, sessions, starts: (index) => starts[index] ?? 0 },
        random,
      );
      return { workload, pool: pool(horizonMs) };
    },
  };
}

const single = (): number => 1;
/** No shared beginnings. */
const noHead = { pick: () => 0, tokens: () => 0 };

export const SYNTHETIC: readonly Scenario[] = [
  scenario(
    'chat',
    'chats of 1 to 12 short turns, 20 system prompts, 8 H100',
    () => uniformPool(8, presetServer('llama-3.1-8b-h100')),
    {
      sessions: 12_000,
      everyMs: 85,
      heads: { pick: (random) => zipf(random, 20, 1), tokens: (head) => 300 + 100 * head },
      turns: (random) => 1 + Math.floor(random.next() * 12),
      questionTokens: (random) => logNormal(random, 60, 1),
      answerTokens: (random) => logNormal(random, 200, 0.8),
      thinkMs: 15_000,
    },
  ),
  scenario(
    'agents',
    'agents with 12 k tokens of shared tools, many quick turns, 8 H100',
    () => uniformPool(8, presetServer('llama-3.1-8b-h100')),
    {
      sessions: 1500,
      everyMs: 750,
      heads: { pick: (random) => zipf(random, 8, 0.8), tokens: (head) => 8000 + 1500 * head },
      turns: (random) => 4 + Math.floor(random.next() * 16),
      questionTokens: (random) => logNormal(random, 700, 1),
      answerTokens: (random) => logNormal(random, 120, 0.7),
      thinkMs: 2500,
    },
  ),
  scenario(
    'documents',
    'long documents asked about a few times, 8 H100',
    () => uniformPool(8, presetServer('llama-3.1-8b-h100')),
    {
      sessions: 2200,
      everyMs: 700,
      heads: {
        pick: (random) => Math.floor(random.next() * 700),
        tokens: (head) => 8000 + ((head * 7919) % 40) * 1000,
      },
      turns: (random) => 1 + Math.floor(random.next() * 3),
      questionTokens: (random) => logNormal(random, 40, 0.5),
      answerTokens: (random) => logNormal(random, 250, 0.6),
      thinkMs: 20_000,
    },
  ),
  scenario(
    'completion',
    'code completion: short answers, prompts that share repositories, 8 H100',
    () => uniformPool(8, presetServer('llama-3.1-8b-h100')),
    {
      sessions: 20_000,
      everyMs: 12,
      heads: {
        pick: (random) => zipf(random, 400, 0.9),
        tokens: (head) => 1000 + ((head * 31) % 20) * 100,
      },
      turns: single,
      questionTokens: (random) => logNormal(random, 400, 0.7),
      answerTokens: (random) => logNormal(random, 25, 0.6),
      thinkMs: 1000,
    },
  ),
  scenario(
    'bursty',
    'as chat, with bursts of six times the calm rate',
    () => uniformPool(8, presetServer('llama-3.1-8b-h100')),
    {
      sessions: 10_000,
      everyMs: 50,
      burst: 6,
      heads: { pick: (random) => zipf(random, 20, 1), tokens: (head) => 300 + 400 * head },
      turns: (random) => 1 + Math.floor(random.next() * 8),
      questionTokens: (random) => logNormal(random, 200, 1),
      answerTokens: (random) => logNormal(random, 150, 0.8),
      thinkMs: 10_000,
    },
  ),
  scenario(
    'lora',
    '64 adapters, Zipf, 4 in a batch, 8 H100',
    () =>
      uniformPool(8, {
        ...presetServer('llama-3.1-8b-h100'),
        loras: { ...LORA_DEFAULTS, slots: 4, hostSlots: 16 },
      }),
    {
      sessions: 20_000,
      everyMs: 55,
      heads: noHead,
      turns: single,
      questionTokens: (random) => logNormal(random, 500, 0.8),
      answerTokens: (random) => logNormal(random, 120, 0.7),
      thinkMs: 1000,
      model: (_session, random) => `adapter-${zipf(random, 64, 1)}`,
    },
  ),
  scenario(
    'tenants',
    '60 tenants, each with a long prompt of its own, the largest a fifth of all, in bursts, 8 H100',
    () => uniformPool(8, presetServer('llama-3.1-8b-h100')),
    {
      sessions: 10_000,
      everyMs: 75,
      burst: 3,
      heads: { pick: (random) => zipf(random, 60, 1), tokens: (head) => 1500 + 100 * (head % 37) },
      turns: (random) => 1 + Math.floor(random.next() * 4),
      questionTokens: (random) => logNormal(random, 300, 1),
      answerTokens: (random) => logNormal(random, 150, 0.8),
      thinkMs: 6000,
    },
  ),
  scenario(
    'mixed-speeds',
    '4 servers at full and 4 at half speed',
    () =>
      mixedPool([
        [4, studyServer()],
        [4, slower(2)],
      ]),
    {
      sessions: 4000,
      everyMs: 160,
      heads: { pick: (random) => zipf(random, 30, 0.8), tokens: (head) => 1000 + 300 * head },
      turns: (random) => 1 + Math.floor(random.next() * 5),
      questionTokens: (random) => logNormal(random, 900, 1),
      answerTokens: (random) => logNormal(random, 150, 0.7),
      thinkMs: 8000,
    },
  ),
  scenario(
    'mixed-presets',
    'H100, A100 and L40S in one pool',
    () =>
      mixedPool([
        [3, presetServer('llama-3.1-8b-h100')],
        [3, presetServer('llama-3.1-8b-a100')],
        [4, presetServer('llama-3.1-8b-l40s')],
      ]),
    {
      sessions: 7000,
      everyMs: 90,
      heads: { pick: (random) => zipf(random, 30, 0.8), tokens: (head) => 500 + 200 * head },
      turns: (random) => 1 + Math.floor(random.next() * 6),
      questionTokens: (random) => logNormal(random, 300, 1),
      answerTokens: (random) => logNormal(random, 150, 0.7),
      thinkMs: 8000,
    },
  ),
  scenario(
    'failing',
    'one of 8 servers crashes, another runs at a quarter speed for a while',
    withFaults,
    {
      sessions: 10_000,
      everyMs: 55,
      heads: { pick: (random) => zipf(random, 20, 1), tokens: (head) => 300 + 200 * head },
      turns: (random) => 1 + Math.floor(random.next() * 6),
      questionTokens: (random) => logNormal(random, 200, 1),
      answerTokens: (random) => logNormal(random, 150, 0.7),
      thinkMs: 8000,
    },
  ),
];

function slower(factor: number): ReturnType<typeof studyServer> {
  return {
    ...studyServer(),
    latency: {
      kind: 'linear',
      baseMs: 6 * factor,
      perPrefillTokenMs: 0.04 * factor,
      perDecodeSequenceMs: 0.05 * factor,
      perContextTokenMs: 0.00002 * factor,
    },
  };
}

function withFaults(horizonMs: number): PoolSpec {
  const { servers } = uniformPool(8, presetServer('llama-3.1-8b-h100'));
  const [crashes, crawls] = servers;
  if (crashes === undefined || crawls === undefined) return { servers, faults: [] };
  const thirdMs = horizonMs / 3;
  return {
    servers,
    faults: [
      { kind: 'crash', server: crashes.id, atMs: thirdMs, forMs: thirdMs / 4 },
      { kind: 'crash', server: crashes.id, atMs: 2 * thirdMs, forMs: thirdMs / 4 },
      { kind: 'slow', server: crawls.id, atMs: 1.5 * thirdMs, forMs: thirdMs / 2, factor: 4 },
    ],
  };
}
