import { uniformPool } from '../../src/lab/simulate/pool-spec.ts';
import { LORA_DEFAULTS } from '../../stub-server/engine/lora-slots.ts';
import { presetServer } from '../scenarios/pools.ts';
import { ANSWER, chat, h100s } from './lengths.ts';
import type { Situation } from './situation.ts';

/** Usual lengths, on pools of equal servers. */
export const TRAFFICS: readonly Situation[] = [
  {
    name: 'chat-light',
    about: 'chats, an idle pool',
    load: [0.03, 0.1],
    pool: h100s,
    streams: () => [chat()],
  },
  { name: 'chat-usual', about: 'chats', pool: h100s, streams: () => [chat()] },
  {
    name: 'chat-busy',
    about: 'chats, some four times as many as usual',
    load: [2.2, 3],
    requests: 4000,
    pool: h100s,
    streams: () => [chat()],
  },
  {
    name: 'chat-bursts',
    about: 'chats in bursts of eight times the calm rate',
    pool: h100s,
    streams: () => [{ ...chat(), burst: 8 }],
  },
  {
    name: 'conversations-long',
    about: 'conversations of up to 30 turns on three servers',
    requests: 5000,
    pool: () => uniformPool(3, presetServer('llama-3.1-8b-h100')),
    streams: () => [{ ...chat(), turnsMax: 30, thinkMs: 1500 }],
  },
  {
    name: 'agents-tools',
    about: 'agents with 12,000 tokens of shared tools, many quick turns',
    pool: h100s,
    streams: ({ between }) => [
      {
        heads: { count: Math.round(between(3, 12)), skew: 0.8, tokens: 12_000 },
        turnsMax: 20,
        question: { median: 700, spread: 1 },
        answer: { median: 120, spread: 0.7 },
        thinkMs: 2000,
      },
    ],
  },
  {
    name: 'retrieval',
    about: 'questions with 4,000 tokens found for them, of which nothing is shared',
    pool: h100s,
    streams: () => [
      {
        heads: { count: 1, skew: 0, tokens: 500 },
        question: { median: 4000, spread: 0.4 },
        answer: ANSWER,
      },
    ],
  },
  {
    name: 'documents-10k',
    about: 'a few questions about each of many documents of 10,000 tokens',
    requests: 1200,
    pool: h100s,
    streams: ({ ratio }) => [
      {
        heads: { count: Math.round(ratio(50, 400)), skew: 0.5, tokens: 10_000 },
        turnsMax: 3,
        question: { median: 60, spread: 0.5 },
        answer: ANSWER,
      },
    ],
  },
  {
    name: 'completions',
    about: 'code completion: short answers, prompts that share repositories',
    requests: 4000,
    pool: h100s,
    streams: () => [
      {
        heads: { count: 300, skew: 0.9, tokens: 2000 },
        question: { median: 400, spread: 0.7 },
        answer: { median: 25, spread: 0.6 },
      },
    ],
  },
  {
    name: 'one-beginning',
    about: 'all prompts begin with the same 8,000 tokens',
    pool: h100s,
    streams: () => [
      {
        heads: { count: 1, skew: 0, tokens: 8000 },
        question: { median: 150, spread: 0.7 },
        answer: ANSWER,
      },
    ],
  },
  {
    name: 'tenants-unequal',
    about: '40 tenants, each with 3,000 tokens of its own, one with a quarter of all requests',
    pool: h100s,
    streams: () => [
      {
        heads: { count: 40, skew: 1.2, tokens: 3000 },
        turnsMax: 4,
        question: { median: 300, spread: 1 },
        answer: ANSWER,
        burst: 3,
      },
    ],
  },
  {
    name: 'adapters',
    about: '40 adapters, slots for 4 in each server',
    pool: (draws) => {
      const loras = { ...LORA_DEFAULTS, slots: 4, hostSlots: 16 };
      const { servers, faults } = h100s(draws);
      return { servers: servers.map((server) => ({ ...server, loras })), faults };
    },
    streams: () => [{ question: { median: 500, spread: 0.8 }, answer: ANSWER, models: 40 }],
  },
  {
    name: 'two-servers',
    about: 'chats on two servers',
    pool: () => uniformPool(2, presetServer('llama-3.1-8b-h100')),
    streams: () => [chat()],
  },
  {
    name: 'many-servers',
    about: 'chats on 32 servers',
    requests: 4000,
    pool: () => uniformPool(32, presetServer('llama-3.1-8b-h100')),
    streams: () => [chat()],
  },
];
