import type { EjectionReason } from './ejection-plan.ts';

/** For readers who do not know the names that metrics and log have. */
export const EJECTION_WORDS: Readonly<Record<EjectionReason, string>> = {
  'consecutive-failures': 'requests failed one after the other',
  'failure-share': 'too many of its requests failed',
  'not-reached': 'the proxy could not reach it',
  'first-token-stall': 'no first token came, while others gave some',
  silent: 'it answered neither requests nor scrapes',
  'trial-failed': 'a trial request failed',
  'failed-again': 'it failed again soon after it was back',
};
