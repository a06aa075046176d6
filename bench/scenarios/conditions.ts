import { uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { logNormal, zipf } from './arrivals.ts';
import { conversations } from './conversations.ts';
import { longPrompts, splitPool } from './disaggregation.ts';
import { drawnAdapters } from './drawn-adapters.ts';
import { drawnBeginnings } from './drawn-beginnings.ts';
import { drawnCondition } from './drawn-conditions.ts';
import { presetServer } from './pools.ts';
import type { Scenario } from './scenario.ts';

const SESSIONS = { small: 600, full: 4000 };
const REQUESTS = { small: 600, full: 4000 };
/** KV memory of each server: room for about 40 requests of these scenarios. */
const SHORT_OF_TOKENS = 100_000;

/**
 * What else than pending prompts may keep an engine from beginning a request. These are not part of
 * the whole comparison: `npm run bench -- policies --only memory-short`.
 */
const CONDITIONS: readonly Scenario[] = [
  {
    name: 'memory-short',
    about: 'long answers fill the KV memory before prompts fill the time, 6 H100',
    build(seed, size) {
      const random = seededRandom(seed).fork('memory-short');
      const workload = conversations(
        {
          sessions: SESSIONS[size],
          starts: (index) => 85 * index,
          heads: { pick: (each) => zipf(each, 40, 0.8), tokens: (head) => 500 + 50 * head },
          turns: (each) => 1 + Math.floor(each.next() * 3),
          questionTokens: (each) => logNormal(each, 800, 0.8),
          answerTokens: (each) => logNormal(each, 500, 0.6),
          thinkMs: 6000,
        },
        random,
      );
      const server = { ...presetServer('llama-3.1-8b-h100'), kvTokens: SHORT_OF_TOKENS };
      return { workload, pool: uniformPool(6, server) };
    },
  },
  {
    name: 'decode-memory-short',
    about: 'prompts of 3,000 tokens; 4 servers prefill, 4 with little KV memory decode, H100',
    disaggregated: 'first-token',
    build(seed, size) {
      const load = { perSecond: 30, promptTokens: 3000, requests: REQUESTS[size] };
      const { servers, faults } = splitPool(4, 4);
      const short = servers.map((server) => {
        const isDecoder = server.labels['llm-d.ai/role'] === 'decode';
        return isDecoder ? { ...server, kvTokens: SHORT_OF_TOKENS } : server;
      });
      return { workload: longPrompts(seed, load), pool: { servers: short, faults } };
    },
  },
];

/**
 * A scenario in which something else than pending prompts is short, or one that its number draws,
 * such as `memory-short-1` or `begin-alike-1`; undefined for another name.
 */
export function conditionScenario(name: string): Scenario | undefined {
  return (
    CONDITIONS.find((each) => each.name === name) ??
    drawnCondition(name) ??
    drawnAdapters(name) ??
    drawnBeginnings(name)
  );
}
