import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { exponential, logNormal, zipf } from './arrivals.ts';
import { conversations } from './conversations.ts';
import { longPrompts, splitPool } from './disaggregation.ts';
import type { Scenario } from './scenario.ts';

/** As in the other synthetic scenarios. */
const SMALL_SHARE = 0.15;
const SESSIONS = 4000;
const SESSION_EVERY_MS = 260;

const POOLS: readonly Scenario[] = [
  {
    name: 'prefill-decode',
    about: 'prompts of 4,000 tokens without a common beginning; 4 servers prefill, 4 decode, H100',
    build(seed, size) {
      const requests = size === 'small' ? 900 : 6000;
      const load = { perSecond: 25, promptTokens: 4000, requests };
      return { workload: longPrompts(seed, load), pool: splitPool(4, 4) };
    },
  },
  {
    name: 'prefill-decode-chat',
    about: 'chats about 200 documents, turn after turn; 3 servers prefill, 5 decode, H100',
    build(seed, size) {
      const random = seededRandom(seed).fork('prefill-decode-chat');
      const arrivals = random.fork('arrivals');
      let startMs = 0;
      const workload = conversations(
        {
          sessions: Math.round(SESSIONS * (size === 'small' ? SMALL_SHARE : 1)),
          starts: () => {
            startMs += exponential(arrivals, SESSION_EVERY_MS);
            return startMs;
          },
          heads: {
            pick: (each) => zipf(each, 200, 0.7),
            tokens: (head) => 2000 + ((head * 7919) % 20) * 500,
          },
          turns: (each) => 1 + Math.floor(each.next() * 6),
          questionTokens: (each) => logNormal(each, 250, 1),
          answerTokens: (each) => logNormal(each, 180, 0.7),
          thinkMs: 8000,
        },
        random,
      );
      return { workload, pool: splitPool(3, 5) };
    },
  },
];

/** Pools of which some servers only compute prompts: once for each objective. */
export const DISAGGREGATED: readonly Scenario[] = POOLS.flatMap((scenario) => [
  { ...scenario, disaggregated: 'end-to-end' as const },
  { ...scenario, name: `${scenario.name}-ttft`, disaggregated: 'first-token' as const },
]);
