import { describe, expect, it } from 'vitest';
import { inLongRuns } from '../../test/support/long-runs.ts';
import { DEFAULT_CONFIG, madeCapture, SEED } from '../../test/support/made-capture.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../../test/support/redecided.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { type CapturedDecision } from '../journal/capture/capture-record.ts';
import type { RunRedecision } from './redecide.ts';

/** Requests wait for a moment only. */
const IMPATIENT = DEFAULT_CONFIG.replace('{enabled: true}', '{enabled: true, maxWaitMs: 200}');

const CONFIGURATION = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';

describe('a capture with requests that waited, decided again', () => {
  it.each([1, ...inLongRuns(2)])(
    '[Q15] gives the same decisions where requests have waited, seed %i',
    async (seed) => {
      const long = { tokensPerBlock: 4000, commonBlocks: 9 };
      const records = madeCapture('default', 1500, seed, long);
      const asked = records.filter((record) => record.e === 'q');
      const waited = asked.filter(({ waitedMs = 0 }) => waitedMs > 0);
      expect(waited.length).toBeGreaterThan(50);
      expect(asked.some(({ held = [] }) => held.length > 1)).toBe(true);
      // Prompts of others that wait are part of it.
      expect(asked.some(({ held = [] }) => held.some(([, , , , shared]) => shared === 512))).toBe(
        true,
      );
      const decided = await redecideAll(records, REDECIDE_OPTIONS);
      expect(decidedOtherwise(decided)).toEqual([]);
      // What waited is part of the decision: without it, some are others.
      const forgotten = records.map((record) =>
        record.e === 'q' ? { ...record, held: undefined } : record,
      );
      const without = await redecideAll(forgotten, REDECIDE_OPTIONS);
      expect(decidedOtherwise(without)).not.toEqual([]);
    },
  );

  it.each([3, ...inLongRuns(4)])(
    '[Q152] gives the same decisions where a tenant crowds out another, seed %i',
    async (seed) => {
      const busy = { tokensPerBlock: 400, openMax: 400, tenants: 2 };
      const records = madeCapture('default', 1500, seed, busy);
      const crowded = records.filter((record) => record.e === 'q' && record.crowdedOut === true);
      expect(crowded.length).toBeGreaterThan(10);
      const decided = await redecideAll(records, REDECIDE_OPTIONS);
      expect(decidedOtherwise(decided)).toEqual([]);
      const forgotten = records.map((record) =>
        record.e === 'q' ? { ...record, crowdedOut: undefined } : record,
      );
      const without = await redecideAll(forgotten, REDECIDE_OPTIONS);
      expect(decidedOtherwise(without)).not.toEqual([]);
    },
  );

  it('[O358] predicts first tokens from the pick on, whatever still waits at the picker', async () => {
    const long = { tokensPerBlock: 4000, commonBlocks: 9 };
    const records = madeCapture('default', 800, SEED, long);
    const forgotten = records.map((record) =>
      record.e === 'q' ? { ...record, held: undefined } : record,
    );
    expect(forgotten).not.toEqual(records);
    const predictions = async (each: typeof records): Promise<readonly unknown[]> =>
      (await redecideAll(each, REDECIDE_OPTIONS)).map(({ ttftMs }) => ttftMs?.was);
    const predicted = await predictions(records);
    expect(predicted.filter((ms) => ms !== undefined).length).toBeGreaterThan(200);
    expect(predicted).toEqual(await predictions(forgotten));
  });

  it('[Q153] takes from the capture which requests have waited too long', async () => {
    const long = { tokensPerBlock: 4000, commonBlocks: 9, openMax: 400 };
    const records = madeCapture(IMPATIENT, 600, SEED, long);
    const isTimeout = (decision: CapturedDecision): boolean =>
      'error' in decision && decision.error === 'queue-timeout';
    const timeouts = (each: readonly RunRedecision[]): number =>
      each.filter(({ is }) => isTimeout(is)).length;
    const asked = records.filter((record) => record.e === 'q');
    const refused = asked.filter(({ d }) => isTimeout(d)).length;
    expect(refused).toBeGreaterThan(20);
    const own = await redecideAll(records, REDECIDE_OPTIONS);
    expect(decidedOtherwise(own)).toEqual([]);
    expect(timeouts(own)).toBe(refused);
    // Another configuration says where they would have gone.
    const config = { text: DEFAULT_CONFIG, source: 'default' };
    expect(timeouts(await redecideAll(records, { ...REDECIDE_OPTIONS, config }))).toBe(0);
  });

  it.each([2, ...inLongRuns(4)])(
    '[V530] ejects none sooner because a request has waited too long, seed %i',
    async (seed) => {
      const lossy = { tokensPerBlock: 400, commonBlocks: 9, openMax: 60, lost: 0.03 };
      const records = madeCapture(IMPATIENT, 600, seed, lossy);
      expect(decidedOtherwise(await redecideAll(records, REDECIDE_OPTIONS))).toEqual([]);
    },
  );

  it.each([1, ...inLongRuns(2, 3)])(
    '[V132] ejects the same endpoints at the same requests, seed %i',
    async (seed) => {
      const rest = 'plugins: [{type: running-requests-size-scorer}]\n';
      const ejecting = `${CONFIGURATION}ejection: {backoffMs: 2000}\n${rest}`;
      const records = madeCapture(ejecting, 3000, seed, { failing: 'e3', churn: 0 });
      const decided = await redecideAll(records, REDECIDE_OPTIONS);
      expect(decidedOtherwise(decided)).toEqual([]);
      // Without ejection, the endpoint that fails gets its share: that is not what was captured.
      const other = `${CONFIGURATION}ejection: {enabled: false}\n${rest}`;
      const without = await redecideAll(records, {
        ...REDECIDE_OPTIONS,
        config: { text: other, source: 'other' },
      });
      const toThird = (each: readonly RunRedecision[]): number =>
        each.filter(({ is }) => 'endpoint' in is && is.endpoint === 'e3').length;
      expect(toThird(decided)).toBeLessThan(0.7 * toThird(without));
      // A configuration that says nothing of ejection ejects as the captured one.
      const silent = await redecideAll(records, {
        ...REDECIDE_OPTIONS,
        config: { text: `${CONFIGURATION}${rest}`, source: 'silent' },
      });
      expect(toThird(silent)).toBe(toThird(decided));
    },
  );

  it.each([1, ...inLongRuns(2, 3)])(
    '[V132] tries an ejected endpoint at the same requests where requests wait, seed %i',
    async (seed) => {
      const ejecting = `${NAMED_CONFIGS.get('default')}\nejection: {backoffMs: 500}\n`;
      const long = { tokensPerBlock: 4000, commonBlocks: 9 };
      const records = madeCapture(ejecting, 3000, seed, { ...long, failing: 'e3', churn: 0 });
      const asked = records.filter((record) => record.e === 'q');
      expect(asked.filter(({ waitedMs = 0 }) => waitedMs > 0).length).toBeGreaterThan(50);
      const late = asked.slice(200).filter(({ d }) => 'endpoint' in d && d.endpoint === 'e3');
      expect(late.length).toBeGreaterThan(0);
      const decided = await redecideAll(records, REDECIDE_OPTIONS);
      expect(decidedOtherwise(decided)).toEqual([]);
    },
  );

  it.each([1, ...inLongRuns(2, 3)])(
    '[V216] is of the decisions of a picker in which none may wait where none had to, seed %i',
    (seed) => {
      const waiting = `${NAMED_CONFIGS.get('default')}\nejection: {backoffMs: 500}\n`;
      const placing = waiting.replace('hold: {enabled: true}', 'hold: {enabled: false}');
      expect(placing).not.toBe(waiting);
      const [may, mayNot] = [waiting, placing].map((config) => {
        const records = madeCapture(config, 2000, seed, { failing: 'e3', tokensPerBlock: 4 });
        return records.filter((record) => record.e === 'q');
      });
      expect(may?.every(({ waitedMs = 0 }) => waitedMs === 0)).toBe(true);
      expect(may?.map(({ n, d }) => [n, d])).toEqual(mayNot?.map(({ n, d }) => [n, d]));
    },
  );
});
