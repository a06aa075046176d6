import { describe, expect, it } from 'vitest';
import { DEFAULT_OBJECTIVE } from '../../cost-model/capacity.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { SeparateSteps } from './separate-steps.ts';

const FIXED_MS = 30;
const NONE_WAITS = Number.POSITIVE_INFINITY;

interface Drive {
  /** Tokens of an answer after the first, and steps for prompts meanwhile. */
  readonly steps: number;
  readonly promptSteps: number;
  /** Undefined for what users wait for; `just-late` for too little by half of the fixed times. */
  readonly tpotSloMs?: number | 'just-late';
  /** How long a prompt takes beside the fixed time: twice what it does by the prior. */
  readonly promptMs?: number;
  readonly answers?: number;
}

/** What is learned of answers with about so many steps. */
function learned(drive: Drive, separate = new SeparateSteps()): SeparateSteps {
  const { promptMs = 0, tpotSloMs, answers = 100 } = drive;
  const random = seededRandom(1);
  const about = (mean: number): number => Math.round(mean * (0.5 + random.next()));
  for (let answer = 0; answer < answers; answer++) {
    const [steps, promptSteps] = [about(drive.steps), about(drive.promptSteps)];
    const computedMs = promptSteps * promptMs * (0.5 + random.next());
    const ms = FIXED_MS * (steps + promptSteps) + computedMs;
    const justLateMs = (ms - (FIXED_MS * promptSteps) / 2) / steps;
    separate.observe({
      steps,
      promptSteps,
      promptMs: computedMs / 2,
      ms,
      tpotSloMs: tpotSloMs === 'just-late' ? justLateMs : tpotSloMs,
    });
  }
  return separate;
}

describe('what a step of its own for a prompt costs answers', () => {
  it('[Q386] is the fixed time of a step, without the time of the prompts', () => {
    for (const promptMs of [0, 5, 60]) {
      const drive = { steps: 10, promptSteps: 30, promptMs, tpotSloMs: 'just-late' } as const;
      const share = learned(drive).stopMs(NONE_WAITS) / FIXED_MS;
      expect(share, `prompts of ${promptMs} ms`).toBeCloseTo(1, 1);
    }
  });

  it('[Q386] is the part of it that the newest waiting prompt does not share', () => {
    const separate = learned({ steps: 10, promptSteps: 30 });
    const alone = separate.stopMs(NONE_WAITS);
    expect(separate.stopMs(0)).toBe(0);
    expect(separate.stopMs(FIXED_MS / 3) / alone).toBeCloseTo(1 / 3, 1);
    expect(separate.stopMs(2 * FIXED_MS)).toBe(alone);
  });

  it('[Q387] is nothing where answers are in time', () => {
    expect(learned({ steps: 100, promptSteps: 20 }).stopMs(NONE_WAITS)).toBe(0);
    const tpotSloMs = 10 * FIXED_MS;
    expect(learned({ steps: 10, promptSteps: 30, tpotSloMs }).stopMs(NONE_WAITS)).toBe(0);
  });

  it('[Q387] is nothing where they were late without such steps, too', () => {
    const promptMs = 10 * DEFAULT_OBJECTIVE.tpotMs;
    expect(learned({ steps: 10, promptSteps: 10, promptMs }).stopMs(NONE_WAITS)).toBe(0);
    expect(learned({ steps: 10, promptSteps: 3, tpotSloMs: 20 }).stopMs(NONE_WAITS)).toBe(0);
  });

  it('[Q387] grows with the share of answers that are late for such steps, and falls with it', () => {
    const separate = learned({ steps: 10, promptSteps: 30, answers: 20 });
    const some = separate.stopMs(NONE_WAITS);
    const most = learned({ steps: 10, promptSteps: 30 }, separate).stopMs(NONE_WAITS);
    expect(most).toBeGreaterThan(1.2 * some);
    expect(learned({ steps: 100, promptSteps: 20 }, separate).stopMs(NONE_WAITS)).toBeLessThan(
      0.1 * most,
    );
  });
});
