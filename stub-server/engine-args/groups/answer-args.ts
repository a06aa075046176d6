import { z } from 'zod';
import { FAILURE_TYPES, type FailureType } from '../../faults/failure-types.ts';
import { type FakeMetrics, fakeMetricsSchema } from '../../metrics/fake-metrics.ts';
import { settingError } from './setting-error.ts';
import { count, flag, json, listOf, number, type SettingTypes, text } from './setting-types.ts';

/** What is answered to requests and to scrapes. */
export interface AnswerArgs {
  readonly mode?: 'random' | 'echo' | undefined;
  readonly 'dataset-path'?: string | undefined;
  /** In percent of the requests. */
  readonly 'failure-injection-rate'?: number | undefined;
  readonly 'failure-types'?: readonly FailureType[] | undefined;
  readonly 'fake-metrics'?: FakeMetrics | undefined;
  readonly 'enable-request-id-headers'?: boolean | undefined;
  readonly strict?: boolean | undefined;
  readonly 'default-embedding-dimensions'?: number | undefined;
}

export const ANSWER_TYPES: SettingTypes<AnswerArgs> = {
  mode: z.enum(['random', 'echo']),
  'dataset-path': text,
  'failure-injection-rate': number.pipe(z.number().min(0).max(100)),
  'failure-types': listOf(z.enum(FAILURE_TYPES)),
  'fake-metrics': json(fakeMetricsSchema),
  'enable-request-id-headers': flag,
  strict: flag,
  'default-embedding-dimensions': count,
};

/** Throws ConfigError for a data set that would not be used. */
export function answerOptions(args: AnswerArgs): object {
  const dataset = args['dataset-path'] || undefined;
  if (dataset !== undefined && args.mode === 'echo') {
    throw settingError('--dataset-path', 'cannot be used with --mode echo: leave one of them out');
  }
  return {
    mode: args.mode,
    dataset,
    failures: { rate: args['failure-injection-rate'], types: args['failure-types'] },
    fakeMetrics: args['fake-metrics'],
    requestIdHeaders: args['enable-request-id-headers'],
    strict: args.strict,
    embeddingDimensions: args['default-embedding-dimensions'],
  };
}
