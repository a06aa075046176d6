import { z } from 'zod';
import { count, flag, number, type SettingTypes } from './setting-types.ts';

/** Which requests run together, and which wait. */
export interface SchedulerArgs {
  readonly 'max-num-seqs'?: number | undefined;
  readonly 'max-num-batched-tokens'?: number | undefined;
  readonly 'max-waiting-queue-length'?: number | undefined;
  readonly 'scheduling-policy'?: 'fcfs' | 'priority' | undefined;
  readonly 'scheduler-reserve-full-isl'?: boolean | undefined;
  readonly 'global-cache-hit-threshold'?: number | undefined;
}

export const SCHEDULER_TYPES: SettingTypes<SchedulerArgs> = {
  'max-num-seqs': count,
  'max-num-batched-tokens': count,
  'max-waiting-queue-length': count,
  'scheduling-policy': z.enum(['fcfs', 'priority']),
  'scheduler-reserve-full-isl': flag,
  'global-cache-hit-threshold': number.pipe(z.number().min(0).max(1)),
};

export function schedulerOptions(args: SchedulerArgs): object {
  const sequencesMax = args['max-num-seqs'];
  const batchedTokensMax = args['max-num-batched-tokens'];
  return {
    sequencesMax,
    // Each running sequence needs a token in each step.
    batchedTokensMax:
      batchedTokensMax ?? (sequencesMax === undefined ? undefined : Math.max(2048, sequencesMax)),
    waitingMax: args['max-waiting-queue-length'],
    policy: args['scheduling-policy'],
    wholePromptMustFit: args['scheduler-reserve-full-isl'],
    cacheHitThreshold: args['global-cache-hit-threshold'],
  };
}
