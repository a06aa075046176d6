import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  readServingPoints,
  type ServingPoint,
} from '../../stub-server/calibration/serving-point.ts';
import type { Calibration } from '../../stub-server/calibration/simulate-point.ts';

const csv = join(import.meta.dirname, '../fixtures/vllm-h100-points.csv');

/** inference-perf against vLLM 0.11 with Llama-3.1-8B on one H100, in three configurations. */
export const H100_POINTS: readonly ServingPoint[] = readServingPoints(
  readFileSync(csv, 'utf8'),
  'points',
);

/** `pointsman calibrate --points test/fixtures/vllm-h100-points.csv --fit base,prefix`. */
export const FITTED_ON_BASE_AND_PREFIX: Calibration = {
  engine: {
    latency: {
      kind: 'roofline',
      stepMs: 0.644,
      weightsMs: 6.49,
      perTokenMs: 0.0225,
      perSequenceMs: 0.0141,
      perContextTokenMs: 0.0000389,
      perAttendedSquareMs: 5.3e-7,
      prefillMs: 0.751,
      eagerMs: 2.17,
    },
    admissionMs: 14.8,
    admissionPerSequenceMs: 0.0158,
    completionMs: 1.97,
  },
  connectMs: 5.65,
};
