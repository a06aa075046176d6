import type { Run } from '../../src/lab/run-summary/compare.ts';
import { quantile } from '../../src/lab/run-summary/statistics.ts';

export interface LiveRun extends Run {
  readonly replay: { readonly late: { readonly p99: number } };
}

/** One policy, simulated and live. Times are medians of the time to first token. */
export interface PolicyPair {
  readonly name: string;
  readonly simulatedMs: number;
  readonly liveMs: number;
  /** How late requests were sent, p99: the part that this machine has in the live figures. */
  readonly lateMs: number;
  /** The range over other simulated draws of the same workload. */
  readonly drawsMs: readonly [least: number, most: number];
  /** By mean time to first token; 1 is the lowest. */
  readonly simulatedRank: number;
  readonly liveRank: number;
}

/** Pairs runs by name, in the order of the simulated runs. */
export function pairUp(
  simulated: readonly Run[],
  draws: readonly Run[],
  live: readonly LiveRun[],
): readonly PolicyPair[] {
  const range = (name: string): readonly [least: number, most: number] => {
    const all = draws.filter(({ job }) => job.name === name);
    const medians = all.map(({ summary }) => summary.ttftP50Ms);
    return [Math.min(...medians), Math.max(...medians)];
  };
  const median = (runs: readonly Run[], name: string): number =>
    runs.find(({ job }) => job.name === name)?.summary.ttftP50Ms ?? Number.NaN;
  const rank = (runs: readonly Run[], name: string): number => {
    const own = runs.find(({ job }) => job.name === name)?.summary.ttftMeanMs ?? Number.NaN;
    return 1 + runs.filter((each) => each.summary.ttftMeanMs < own).length;
  };
  return simulated.map(({ job: { name } }) => ({
    name,
    simulatedMs: median(simulated, name),
    liveMs: median(live, name),
    lateMs: live.find(({ job }) => job.name === name)?.replay.late.p99 ?? Number.NaN,
    drawsMs: range(name),
    simulatedRank: rank(simulated, name),
    liveRank: rank(live, name),
  }));
}

/**
 * Mean times to the first token where requests wait for their endpoint, and where they are placed
 * at once.
 */
export interface WaitingMeans {
  readonly waitingMs: number;
  readonly atOnceMs: number;
}

/** By how much waiting lowers the mean time to the first token, simulated and live. */
export interface WaitingGain {
  /** With waiting, as a share of that at once; below 1 where waiting helps. */
  readonly simulated: number;
  /** Nine of ten simulated draws lie between these: what chance alone does to one of them. */
  readonly drawn: readonly [low: number, high: number];
  readonly live: number;
  /** The live share over the simulated one. */
  readonly ratio: number;
}

/**
 * The medians of both are compared: a live round may have shared the machine, and of simulated
 * draws that differ by some milliseconds in their arrivals, single ones lie far from the others.
 */
export function gainOf(
  draws: readonly WaitingMeans[],
  rounds: readonly WaitingMeans[],
): WaitingGain {
  const simulated = sharesOf(draws);
  const [median, live] = [quantile(simulated, 0.5), quantile(sharesOf(rounds), 0.5)];
  const drawn = [quantile(simulated, 0.05), quantile(simulated, 0.95)] as const;
  return { simulated: median, drawn, live, ratio: live / median };
}

/** The least first. */
function sharesOf(means: readonly WaitingMeans[]): readonly number[] {
  return means.map(({ waitingMs, atOnceMs }) => waitingMs / atOnceMs).toSorted((a, b) => a - b);
}
