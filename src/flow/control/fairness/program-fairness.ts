import type { Fairness } from './fairness.ts';
import type { Programs } from './programs.ts';

/** A fairness policy that keeps accounts of programs, for metrics. */
export interface ProgramFairness extends Fairness {
  readonly programs: Programs;
}
