import { NO_TIME, type Timings } from '../engine/timings.ts';
import type { EngineArgs } from './engine-args.ts';

/** The settings of times → the fields of `Timings`. */
export const TIMING_ARGS: Readonly<Partial<Record<keyof EngineArgs, keyof Timings>>> = {
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

/** Fixed times, where one is given or `always`; the others are 0. */
export function givenTimings(args: EngineArgs, always: boolean): object | undefined {
  const changes = timingChanges(args);
  return always || Object.keys(changes).length > 0 ? { ...NO_TIME, ...changes } : undefined;
}

/** The times that are given. */
export function timingChanges(args: EngineArgs): Partial<Timings> {
  const given = Object.entries(TIMING_ARGS).flatMap(([name, field]) => {
    const value = args[name as keyof EngineArgs];
    return value === undefined ? [] : [[field, value]];
  });
  return Object.fromEntries(given) as Partial<Timings>;
}
