import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../test/makers.ts';
import type { AttributeKey, Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import type { Routed } from '../../framework/observer.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { StoppedAnswers } from './stopped-answers.ts';

const STEP_MS = 40;
/** Most answers are late with stops and in time without. Where steps have both, 35 ms make them so. */
const TPOT_SLO_MS = 60;
const SERVER = makeEndpoint('a');

interface Drive {
  /** Whether a step has prompts and answers, or only one of the two. */
  readonly isMixed: boolean;
  readonly seed?: number;
  readonly seconds?: number;
  /** By how much later at most a message is seen than it was sent. */
  readonly lateMs?: number;
  readonly fields?: Partial<Routed>;
  readonly endpoint?: Endpoint;
  readonly tpotSloMs?: number;
  /** The mean time between two requests. */
  readonly everyMs?: number;
}

interface Answering {
  readonly routed: Routed;
  readonly tokens: number;
  left: number;
}

/** What is learned of an engine that gets 15 requests a second with answers of 2 to 12 tokens. */
function learned(drive: Drive, stopped = new StoppedAnswers()): StoppedAnswers {
  const { isMixed, seed = 1, seconds = 60, lateMs = 0, fields, endpoint = SERVER } = drive;
  const { everyMs = 67 } = drive;
  const request = makeRequest({ tpotSloMs: drive.tpotSloMs ?? TPOT_SLO_MS });
  const random = seededRandom(seed);
  const seen: { at: number; report: () => void }[] = [];
  const report = (at: number, tell: (at: number) => void): void => {
    const seenAt = at + lateMs * random.next();
    seen.push({ at: seenAt, report: () => tell(seenAt) });
  };
  let answering: Answering[] = [];
  let waiting: Routed[] = [];
  let nextAt = 0;
  for (let start = 0; start < seconds * 1000; start += STEP_MS) {
    const end = start + STEP_MS;
    const prompts = waiting;
    waiting = [];
    if (isMixed || prompts.length === 0) {
      for (const each of answering) each.left -= 1;
      for (const { routed, tokens } of answering.filter(({ left }) => left === 0)) {
        const usage = { promptTokens: 10, completionTokens: tokens, cachedTokens: 0 };
        report(end, (at) => stopped.onDone(routed, at, usage));
      }
      answering = answering.filter(({ left }) => left > 0);
    }
    for (const routed of prompts) {
      const tokens = 2 + Math.floor(11 * random.next());
      answering.push({ routed, tokens, left: tokens - 1 });
      report(end, (at) => stopped.onFirstToken(routed, at));
    }
    for (; nextAt < end; nextAt -= Math.log(1 - random.next()) * everyMs) {
      const routed = makeRouted(endpoint, { request, at: nextAt, ...fields });
      seen.push({ at: nextAt, report: () => stopped.onRouted(routed) });
      waiting.push(routed);
    }
  }
  for (const each of seen.sort((a, b) => a.at - b.at)) each.report();
  return stopped;
}

/** Without a pending prompt there, at a time after all. */
function stopMs(stopped: StoppedAnswers): number {
  return stopped.stopMs(SERVER.slot, 1e9);
}

const SEEDS = Array.from({ length: 20 }, (_, seed) => seed);

describe('whether answers stop while prompts are computed', () => {
  it('[Q385] is seen by answers that never end in a step with a first token', () => {
    for (const seed of SEEDS) {
      const ms = stopMs(learned({ isMixed: false, seed }));
      expect(ms, `seed ${seed}`).toBeGreaterThan(0.1 * STEP_MS);
      expect(ms, `seed ${seed}`).toBeLessThan(1.1 * STEP_MS);
    }
  });

  it('[Q385] is not where they do, also where messages of a step come up to half a step apart', () => {
    for (const seed of SEEDS) {
      for (const lateMs of [0, 10, 20]) {
        for (const everyMs of [67, 20]) {
          const drive = { isMixed: true, seed, lateMs, everyMs, tpotSloMs: 35 };
          expect(stopMs(learned(drive)), `seed ${seed}, ${lateMs} ms, ${everyMs} ms`).toBe(0);
        }
      }
    }
  });

  it('[Q385] is seen within a few seconds, and given up by an engine that has changed', () => {
    const stopped = learned({ isMixed: false, seconds: 10 });
    expect(stopMs(stopped)).toBeGreaterThan(0);
    expect(stopMs(learned({ isMixed: true, seconds: 60, tpotSloMs: 35 }, stopped))).toBe(0);
  });

  it('[Q385] is not learned where another endpoint computes prompts, nor of several engines', () => {
    const two = makeEndpoint('a', { attributes: [[ENGINE_COUNT as AttributeKey<never>, 2]] });
    const prefill = makeEndpoint('p', { slot: 1 });
    expect(stopMs(learned({ isMixed: false, fields: { prefill } }))).toBe(0);
    expect(stopMs(learned({ isMixed: false, endpoint: two }))).toBe(0);
  });

  it('is forgotten with the endpoint', () => {
    const stopped = learned({ isMixed: false });
    stopped.forget(SERVER.slot);
    expect(stopMs(stopped)).toBe(0);
  });
});

it('[Q387] answers that are in time although they stop count for nothing', () => {
  expect(stopMs(learned({ isMixed: false, tpotSloMs: 10_000 }))).toBe(0);
});

it('[Q386] a prompt stops answers the less, the later one was sent with which it shares a step', () => {
  const stopped = learned({ isMixed: false });
  const alone = stopMs(stopped);
  const pending = makeRouted(SERVER, { at: 2e9 });
  stopped.onRouted(pending);
  expect(stopped.stopMs(SERVER.slot, 2e9)).toBe(0);
  expect(stopped.stopMs(SERVER.slot, 2e9 + STEP_MS / 4) / alone).toBeCloseTo(0.25, 1);
  expect(stopped.stopMs(SERVER.slot, 2e9 + 10 * STEP_MS)).toBe(alone);
  stopped.onFirstToken(pending, 2e9 + 1);
  expect(stopped.stopMs(SERVER.slot, 2e9 + 1)).toBe(alone);
});
