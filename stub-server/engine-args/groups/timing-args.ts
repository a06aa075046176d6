import { z } from 'zod';
import { NO_TIME, type Timings } from '../../engine/timings.ts';
import { duration, number, type SettingTypes } from './setting-types.ts';

/** Fixed times instead of an engine of steps. Times are in milliseconds. */
export interface TimingArgs {
  readonly 'latency-calculator'?: Timings['calculator'] | undefined;
  readonly 'time-to-first-token'?: number | undefined;
  readonly 'time-to-first-token-std-dev'?: number | undefined;
  readonly 'inter-token-latency'?: number | undefined;
  readonly 'inter-token-latency-std-dev'?: number | undefined;
  readonly 'prefill-overhead'?: number | undefined;
  readonly 'prefill-time-per-token'?: number | undefined;
  readonly 'prefill-time-std-dev'?: number | undefined;
  readonly 'kv-cache-transfer-latency'?: number | undefined;
  readonly 'kv-cache-transfer-latency-std-dev'?: number | undefined;
  readonly 'kv-cache-transfer-time-per-token'?: number | undefined;
  readonly 'kv-cache-transfer-time-std-dev'?: number | undefined;
  readonly 'time-factor-under-load'?: number | undefined;
}

export const TIMING_TYPES: SettingTypes<TimingArgs> = {
  'latency-calculator': z.enum(['', 'constant', 'per-token']),
  'time-to-first-token': duration,
  'time-to-first-token-std-dev': duration,
  'inter-token-latency': duration,
  'inter-token-latency-std-dev': duration,
  'prefill-overhead': duration,
  'prefill-time-per-token': duration,
  'prefill-time-std-dev': duration,
  'kv-cache-transfer-latency': duration,
  'kv-cache-transfer-latency-std-dev': duration,
  'kv-cache-transfer-time-per-token': duration,
  'kv-cache-transfer-time-std-dev': duration,
  'time-factor-under-load': number.pipe(z.number().min(1)),
};

/** The settings of times → the fields of `Timings`. */
export const TIMING_FIELDS: Readonly<Record<keyof TimingArgs, keyof Timings>> = {
  'latency-calculator': 'calculator',
  'time-to-first-token': 'firstTokenMs',
  'time-to-first-token-std-dev': 'firstTokenDeviationMs',
  'prefill-overhead': 'prefillOverheadMs',
  'prefill-time-per-token': 'prefillPerTokenMs',
  'prefill-time-std-dev': 'prefillDeviationMs',
  'inter-token-latency': 'interTokenMs',
  'inter-token-latency-std-dev': 'interTokenDeviationMs',
  'kv-cache-transfer-latency': 'transferMs',
  'kv-cache-transfer-latency-std-dev': 'transferDeviationMs',
  'kv-cache-transfer-time-per-token': 'transferPerTokenMs',
  'kv-cache-transfer-time-std-dev': 'transferTokensDeviationMs',
  'time-factor-under-load': 'loadFactor',
};

/** Fixed times, where one is given; the others are 0. */
export function givenTimings(args: TimingArgs): object | undefined {
  return Object.keys(timingChanges(args)).length > 0 ? fixedTimings(args) : undefined;
}

/** Fixed times; those that are not given are 0. */
export function fixedTimings(args: TimingArgs): object {
  return { ...NO_TIME, ...timingChanges(args) };
}

/** The times that are given. */
export function timingChanges(args: TimingArgs): Partial<Timings> {
  const given = Object.entries(TIMING_FIELDS).flatMap(([name, field]) => {
    const value = args[name as keyof TimingArgs];
    return value === undefined ? [] : [[field, value]];
  });
  return Object.fromEntries(given) as Partial<Timings>;
}
