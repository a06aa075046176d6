import { z } from 'zod';
import { FAILURE_TYPES, type FailureType } from '../../faults/failure-types.ts';
import { type FakeMetrics, fakeMetricsSchema } from '../../metrics/fake-metrics.ts';
import type { ChatImages } from '../../options/served-options.ts';
import { settingError } from './setting-error.ts';
import {
  count,
  duration,
  flag,
  json,
  listOf,
  number,
  type SettingTypes,
  text,
} from './setting-types.ts';

/** What is answered to requests and to scrapes. */
export interface AnswerArgs {
  readonly mode?: 'random' | 'echo' | undefined;
  readonly 'dataset-path'?: string | undefined;
  /** In percent of the requests. */
  readonly 'failure-injection-rate'?: number | undefined;
  readonly 'failure-types'?: readonly FailureType[] | undefined;
  readonly 'fake-metrics'?: FakeMetrics | undefined;
  /** Whether chats are answered with images, too. */
  readonly omni?: boolean | undefined;
  /** In percent of the chats. */
  readonly 'image-emission-rate'?: number | undefined;
  /** In milliseconds. */
  readonly 'time-to-generate-image'?: number | undefined;
  readonly 'time-to-generate-image-std-dev'?: number | undefined;
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
  omni: flag,
  'image-emission-rate': number.pipe(z.number().min(0).max(100)),
  'time-to-generate-image': duration,
  'time-to-generate-image-std-dev': duration,
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
    images: args.omni === true ? imageChanges(args) : undefined,
    requestIdHeaders: args['enable-request-id-headers'],
    strict: args.strict,
    embeddingDimensions: args['default-embedding-dimensions'],
  };
}

/** What is given of the images of chats. */
export function imageChanges(args: AnswerArgs): Partial<ChatImages> {
  const { 'image-emission-rate': percent, 'time-to-generate-image': ms } = args;
  const deviationMs = args['time-to-generate-image-std-dev'];
  return {
    ...(percent !== undefined && { percent }),
    ...(ms !== undefined && { ms }),
    ...(deviationMs !== undefined && { deviationMs }),
  };
}
