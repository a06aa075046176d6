import { type PoolSpec, uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import type { Draws } from '../scenarios/drawn-workload.ts';
import { mixedPool, presetServer, studyServer } from '../scenarios/pools.ts';
import { ANSWER, chat, h100s } from './lengths.ts';
import {
  kvSizeTimes,
  reportedOtherwise,
  shortWindow,
  withoutKvSize,
  withoutPrefixCache,
} from './reported-otherwise.ts';
import type { Situation } from './situation.ts';
import type { Stream } from './traffic.ts';

const H100 = presetServer('llama-3.1-8b-h100');
/** KV memory in tokens that answers fill before prompts fill the time. */
const SHORT_TOKENS = 80_000;
const LONGER: Stream = {
  heads: { count: 30, skew: 0.8, tokens: 1000 },
  turnsMax: 3,
  question: { median: 800, spread: 0.8 },
  answer: { median: 500, spread: 0.6 },
};

/** 4 to 8 H100 that are short of memory. */
function shortOfMemory({ between }: Draws): PoolSpec {
  return uniformPool(Math.round(between(4, 8)), { ...H100, kvTokens: SHORT_TOKENS });
}

/** Usual traffic on pools that are not of equal servers, or that say what is not so. */
export const POOLS: readonly Situation[] = [
  {
    name: 'speeds-4-to-1',
    about: 'chats; half of the servers take four times as long',
    pool: () =>
      mixedPool([
        [4, studyServer()],
        [4, { ...studyServer(), slowdown: 4 }],
      ]),
    streams: () => [chat()],
  },
  {
    name: 'three-kinds',
    about: 'chats on H100, A100 and L40S',
    pool: () =>
      mixedPool([
        [3, H100],
        [3, presetServer('llama-3.1-8b-a100')],
        [3, presetServer('llama-3.1-8b-l40s')],
      ]),
    streams: () => [chat()],
  },
  {
    name: 'memory-15-to-1',
    about: 'four servers with memory for 600,000 tokens and four with memory for 40,000',
    pool: () =>
      mixedPool([
        [4, { ...H100, kvTokens: 600_000 }],
        [4, { ...H100, kvTokens: 40_000 }],
      ]),
    streams: () => [LONGER],
  },
  {
    name: 'one-short-window',
    about: 'one server refuses what is longer than 8,000 tokens; one prompt of seven is',
    pool: () => uniformPool(6, H100),
    streams: () => [
      chat(0.85),
      { share: 0.15, question: { median: 12_000, spread: 0.3 }, answer: ANSWER },
    ],
    run: shortWindow('s0', 8000),
  },
  {
    name: 'few-at-a-time',
    about: 'servers that write eight answers at a time',
    pool: () => uniformPool(6, { ...H100, sequencesMax: 8 }),
    streams: () => [chat()],
  },
  {
    name: 'crashes',
    about: 'chats; one of six servers crashes twice',
    pool: () => ({
      ...uniformPool(6, H100),
      faults: [0.3, 0.7].map((atMs) => ({ kind: 'crash', server: 's1', atMs, forMs: 0.1 })),
    }),
    streams: () => [chat()],
  },
  {
    name: 'one-slows-down',
    about: 'chats; one of six servers takes four times as long for a third of the time',
    pool: () => ({
      ...uniformPool(6, H100),
      faults: [{ kind: 'slow', server: 's1', atMs: 0.3, forMs: 0.33, factor: 4 }],
    }),
    streams: () => [chat()],
  },
  {
    name: 'memory-with-size',
    about: 'servers short of KV memory that report its size',
    pool: shortOfMemory,
    streams: () => [LONGER],
  },
  {
    name: 'memory-without-size',
    about: 'servers short of KV memory that do not report its size',
    pool: shortOfMemory,
    streams: () => [LONGER],
    run: reportedOtherwise(withoutKvSize),
  },
  {
    name: 'memory-size-times-10',
    about: 'servers short of KV memory that report ten times its size',
    pool: shortOfMemory,
    streams: () => [LONGER],
    run: reportedOtherwise(kvSizeTimes(10)),
  },
  {
    name: 'memory-use-unknown',
    about: 'servers that always report that no KV memory is in use',
    pool: h100s,
    streams: () => [chat()],
    run: reportedOtherwise({ sample: (sample) => ({ ...sample, kvCacheUsage: 0 }) }),
  },
  {
    name: 'counts-unknown',
    about: 'servers that always report that no request runs or waits',
    pool: h100s,
    streams: () => [chat()],
    run: reportedOtherwise({
      sample: (sample) => ({ ...sample, runningRequests: 0, waitingQueueSize: 0 }),
    }),
  },
  {
    name: 'prefixes-not-kept',
    about: 'chats with 3,000 tokens of shared beginnings; servers find no prefix again',
    load: [0.3, 0.55],
    pool: h100s,
    streams: () => [{ ...chat(), heads: { count: 12, skew: 0.7, tokens: 3000 } }],
    run: withoutPrefixCache,
  },
  {
    name: 'samples-every-5s',
    about: 'chats; servers are read every five seconds',
    pool: h100s,
    streams: () => [chat()],
    run: { scrapeIntervalMs: 5000 },
  },
  {
    name: 'three-pickers',
    about: 'chats through three pickers that share nothing',
    pool: h100s,
    streams: () => [chat()],
    run: { replicas: 3 },
  },
];
