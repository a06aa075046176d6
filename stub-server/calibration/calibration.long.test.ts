import { describe, expect, it } from 'vitest';
import { percent, tellFigure } from '../../test/support/figure.ts';
import { FITTED_ON_BASE_AND_PREFIX, H100_POINTS } from '../../test/support/measured-h100.ts';
import { type CalibrationReport, reportOn } from './calibration-report.ts';
import { fitPoints } from './fit-points.ts';
import { ACCELERATORS, hardwarePriors, LLAMA_8B } from './hardware.ts';
import { simulatePoint } from './simulate-point.ts';

const priors = hardwarePriors(LLAMA_8B, ACCELERATORS.h100);

function fittedOn(...configs: readonly string[]): CalibrationReport {
  const chosen = H100_POINTS.filter(({ config }) => configs.includes(config));
  return reportOn(H100_POINTS, { calibrated: fitPoints(chosen, priors), fittedOn: configs });
}

// A fit is half a minute of a processor's work, and this one may be shared.
describe('fits to vLLM 0.11 on an H100', { timeout: 1_800_000 }, () => {
  it.for([
    ['base', 'prefix'],
    ['prefix', 'base'],
  ] as const)(
    '[B163] on %s predict the capacity of %s within 3 in 100 and its E2E within 8 in 100 up to nine tenths of it',
    ([fit, held], context) => {
      const { capacity, errors } = fittedOn(fit);
      const measured = capacity[held] ?? Number.NaN;
      const what = `calibrated on ${fit}: capacity of ${held}`;
      tellFigure(context, { what, promised: '±3 %', measured: percent(measured) });
      expect(Math.abs(measured)).toBeLessThan(0.03);
      const below = errors.filter(({ config, load }) => config === held && load <= 0.9);
      expect(below.length).toBeGreaterThanOrEqual(3);
      for (const { e2eMean } of below) expect(Math.abs(e2eMean)).toBeLessThan(0.08);
    },
  );

  /** Runs of one minute at loads where half of the requests wait, or where the queue only grows. */
  it.for([
    ['prefix', 167.78],
    ['sharegpt', 87.71],
  ] as const)(
    '[B217] leave %s at %d requests a second among its repetitions',
    ([config, rps], context) => {
      const point = H100_POINTS.find(
        (each) => each.config === config && each.throughputRps === rps,
      );
      if (point === undefined) throw new Error(`no point of ${config} at ${rps}`);
      const runs = Array.from({ length: 60 }, (_, run) =>
        simulatePoint(point, FITTED_ON_BASE_AND_PREFIX, { seconds: 60, seed: 1000 + run }),
      );
      for (const figure of ['ttftMeanS', 'ttftMedianS', 'e2eMeanS'] as const) {
        const below = runs.filter((run) => run[figure] < point[figure]).length / runs.length;
        const what = `${config} at ${rps}/s: simulated repetitions below the measured ${figure}`;
        tellFigure(context, { what, promised: 'some, and not all', measured: percent(below) });
        expect(below).toBeGreaterThan(0);
        expect(below).toBeLessThan(1);
      }
    },
  );

  it('[B163] on base and prefix give the coefficients whose errors the short test holds', () => {
    const { engine, connectMs } = fitPoints(
      H100_POINTS.filter(({ config }) => config !== 'sharegpt'),
      priors,
    );
    const { latency, admissionMs } = FITTED_ON_BASE_AND_PREFIX.engine;
    expect(engine.latency.weightsMs / latency.weightsMs).toBeCloseTo(1, 1);
    expect(engine.latency.perTokenMs / latency.perTokenMs).toBeCloseTo(1, 1);
    expect(engine.admissionMs / admissionMs).toBeCloseTo(1, 1);
    expect(connectMs / FITTED_ON_BASE_AND_PREFIX.connectMs).toBeCloseTo(1, 1);
  });
});
