import { type PoolSpec, uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import type { Draws } from '../scenarios/drawn-workload.ts';
import { presetServer } from '../scenarios/pools.ts';
import type { Situation } from './situation.ts';
import type { Stream } from './traffic.ts';

/** 3 to 6 H100. */
export function h100s({ between }: Draws): PoolSpec {
  return uniformPool(Math.round(between(3, 6)), presetServer('llama-3.1-8b-h100'));
}

/** Chats of some turns, whose system prompts are shared. */
export function chat(share = 1): Stream {
  return {
    share,
    heads: { count: 20, skew: 1, tokens: 1000 },
    turnsMax: 4,
    question: { median: 120, spread: 1 },
    answer: { median: 200, spread: 0.8 },
    thinkMs: 3000,
  };
}

/** Answers of the usual length. */
export const ANSWER = { median: 200, spread: 0.7 };
const ONE_TOKEN = { median: 1, spread: 0 };
const LONG = { median: 100_000, spread: 0.05 };

function always(...streams: readonly Stream[]): Situation['streams'] {
  return () => streams;
}

/** What is asked and answered is unusually short or long, or both at the same time. */
export const LENGTHS: readonly Situation[] = [
  {
    name: 'prompts-short',
    about: 'prompts of some 10 tokens',
    pool: h100s,
    streams: always({ question: { median: 10, spread: 0.5 }, answer: ANSWER }),
  },
  {
    name: 'prompts-20k',
    about: 'prompts of 20,000 tokens that share nothing',
    requests: 1000,
    pool: h100s,
    streams: always({ question: { median: 20_000, spread: 0.3 }, answer: ANSWER }),
  },
  {
    name: 'prompts-100k',
    about: 'prompts of 100,000 tokens that share nothing',
    requests: 400,
    pool: h100s,
    streams: always({ question: LONG, answer: ANSWER }),
  },
  {
    name: 'documents-100k',
    about: 'one to three questions about documents of 100,000 tokens',
    requests: 500,
    pool: h100s,
    streams: always({
      heads: { count: 120, skew: 0.3, tokens: 100_000 },
      turnsMax: 3,
      question: { median: 100, spread: 0.5 },
      answer: ANSWER,
    }),
  },
  {
    name: 'chat-and-1-100k',
    about: 'chats; one request of a hundred has 100,000 tokens',
    pool: h100s,
    streams: always(chat(0.99), { share: 0.01, question: LONG, answer: ANSWER }),
  },
  {
    name: 'chat-and-5-100k',
    about: 'chats; one request of twenty has 100,000 tokens',
    pool: h100s,
    streams: always(chat(0.95), { share: 0.05, question: LONG, answer: ANSWER }),
  },
  {
    name: 'chat-and-10-20k',
    about: 'chats; one request of ten has 20,000 tokens',
    pool: h100s,
    streams: always(chat(0.9), {
      share: 0.1,
      question: { median: 20_000, spread: 0.5 },
      answer: ANSWER,
    }),
  },
  {
    name: 'answers-2k',
    about: 'answers of 2,000 tokens',
    requests: 1200,
    pool: h100s,
    streams: always({
      question: { median: 300, spread: 1 },
      answer: { median: 2000, spread: 0.6 },
    }),
  },
  {
    name: 'answers-10k',
    about: 'answers of 10,000 tokens, which fill most of the memory',
    requests: 1000,
    load: [0.85, 1],
    pool: ({ between }) =>
      uniformPool(Math.round(between(3, 5)), presetServer('llama-3.1-8b-h100')),
    streams: always({
      question: { median: 500, spread: 1 },
      answer: { median: 10_000, spread: 0.4 },
    }),
  },
  {
    name: 'chat-and-5-answers-8k',
    about: 'chats; one answer of twenty has 8,000 tokens',
    pool: h100s,
    streams: always(chat(0.95), {
      share: 0.05,
      question: { median: 500, spread: 0.7 },
      answer: { median: 8000, spread: 0.5 },
    }),
  },
  {
    name: 'answers-of-1',
    about: 'prompts of 500 tokens, answers of one: classification',
    requests: 4000,
    pool: h100s,
    streams: always({
      heads: { count: 10, skew: 0.5, tokens: 300 },
      question: { median: 500, spread: 0.7 },
      answer: ONE_TOKEN,
    }),
  },
  {
    name: 'embeddings-and-chat',
    about: 'chats beside embeddings, of which 64 come at a time',
    requests: 4000,
    pool: h100s,
    streams: always(chat(0.4), {
      share: 0.6,
      question: { median: 400, spread: 0.6 },
      answer: ONE_TOKEN,
      batch: 64,
    }),
  },
  {
    name: 'batches-and-chat',
    about: 'chats beside batch work, of which 200 requests come at a time',
    pool: h100s,
    streams: always(chat(0.6), {
      share: 0.4,
      question: { median: 1500, spread: 0.6 },
      answer: ANSWER,
      batch: 200,
    }),
  },
  {
    name: 'evaluations',
    about: 'runs of 300 requests at a time with the same examples before the question',
    pool: h100s,
    streams: always({
      heads: { count: 6, skew: 0, tokens: 3000 },
      question: { median: 150, spread: 0.5 },
      answer: { median: 60, spread: 0.6 },
      batch: 300,
    }),
  },
];
