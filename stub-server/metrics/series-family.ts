import type { HostTier } from '../engine/kv-cache/host-tier.ts';
import type { ModelEngine } from '../engine/model-engine.ts';
import type { FinishReason } from '../engine/sequence.ts';
import type { EngineStats } from './engine-stats.ts';
import type { Histogram } from './histogram.ts';

/** What metrics read of an engine. */
export interface EngineView
  extends Pick<ModelEngine, 'runningCount' | 'waitingCount' | 'speculation' | 'asleep'> {
  readonly encoder: Readonly<Record<'queries' | 'hits', number>>;
  readonly kv: {
    readonly pool: Readonly<Record<'usage' | 'held' | 'free', number>>;
    readonly host?: HostView | undefined;
  };
  readonly loras: {
    readonly onAccelerator: ReadonlySet<string>;
    readonly inHost: ReadonlySet<string>;
  };
}

type HostView = Readonly<
  Pick<HostTier, 'usage' | 'lookups' | 'hits' | 'evictions' | 'stores' | 'loads'>
>;

/** Adapters in use. */
export interface LorasInUse {
  readonly running: string;
  readonly waiting: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
}

export interface MetricsSource {
  readonly engine: EngineView;
  /** As many series as there are entries: stale ones stay, as in vLLM. */
  readonly lorasInUse: () => readonly LorasInUse[];
  readonly stats: EngineStats;
  readonly model: string;
  readonly rank: number;
  readonly blockTokens: number;
  readonly kvBlocks: number;
  readonly prefixCaching: boolean;
  /** Maximum number of adapters that the server can load; 0 if it serves none. */
  readonly lorasMax: number;
  /** The start of the server's process, in the same unit. */
  readonly startSeconds: () => number;
}

export type Labels = Readonly<Record<string, string>>;

/** Undefined where there is no value to print. */
type Read = (source: MetricsSource) => number | undefined;

/** The fields of `EngineStats` of one type. */
type StatsField<Type> = {
  [Key in keyof EngineStats]: EngineStats[Key] extends Type ? Key : never;
}[keyof EngineStats];

interface Named {
  /** As on the page, with a counter's `_total`, but without the dialect's prefix. */
  readonly name: string;
  readonly help: string;
}

/** A gauge or counter. It is not printed if no series has a value. */
export interface SeriesFamily extends Named {
  readonly type: 'gauge' | 'counter';
  readonly series: readonly { readonly labels?: Labels; readonly value: Read }[];
}

export interface HistogramFamily extends Named {
  readonly type: 'histogram';
  readonly field: StatsField<Histogram>;
}

/** A gauge whose labels change. It brings all its labels, and is not printed without a series. */
export interface InfoFamily extends Named {
  readonly type: 'info';
  readonly info: (source: MetricsSource) => readonly { labels: Labels; value: number }[];
}

export type Family = SeriesFamily | HistogramFamily | InfoFamily;

/** The metrics of one kind of model server. */
export interface Dialect {
  readonly prefix: string;
  /** Labels of all series but those of an `InfoFamily`. */
  readonly labels: (source: MetricsSource) => Labels;
  readonly families: readonly Family[];
}

/** A number of `EngineStats`, or a function. */
type Value = StatsField<number> | Read;

/** Families without labels of their own, by name. */
type Table<Source> = Readonly<Record<string, readonly [source: Source, help: string]>>;

export function series(type: 'gauge' | 'counter', table: Table<Value>): readonly Family[] {
  return Object.entries(table).map(([name, [value, help]]) => {
    return { type, name, help, series: [{ value: readOf(value) }] };
  });
}

export function histograms(table: Table<StatsField<Histogram>>): readonly Family[] {
  return Object.entries(table).map(([name, [field, help]]) => {
    return { type: 'histogram', name, help, field };
  });
}

export function info(name: string, help: string, info: InfoFamily['info']): Family {
  return { type: 'info', name, help, info };
}

/** Most engines begin the help of a histogram like this. */
export function histogramsOf(table: Table<StatsField<Histogram>>): readonly Family[] {
  return histograms(table).map((each) => ({ ...each, help: `Histogram of ${each.help}` }));
}

/** A gauge or counter with one series per value of a label. */
export function labelled(
  type: 'gauge' | 'counter',
  name: string,
  of: { readonly help: string; readonly label: string; readonly values: Record<string, Value> },
): Family {
  const entries = Object.entries(of.values).map(([key, value]) => ({
    labels: { [of.label]: key },
    value: readOf(value),
  }));
  return { type, name, help: of.help, series: entries };
}

function readOf(value: Value): Read {
  return typeof value === 'string' ? ({ stats }) => stats[value] : value;
}

/** Finished requests by reason, under the name that several engines use. */
export function requestSuccess(help: string): Family {
  const reasons: readonly FinishReason[] = ['stop', 'length', 'abort', 'error'];
  const series = reasons.map((reason) => ({
    labels: { finished_reason: reason },
    value: ({ stats }: MetricsSource) => stats.finished[reason],
  }));
  return { type: 'counter', name: 'request_success_total', help, series };
}

export const running = ({ engine }: MetricsSource): number => engine.runningCount;
export const waiting = ({ engine }: MetricsSource): number => engine.waitingCount;
export const kvUsage = ({ engine }: MetricsSource): number => engine.kv.pool.usage;
/** Share of prompt tokens found in the prefix cache. */
export const hitRate = ({ stats }: MetricsSource): number =>
  stats.prefixHitTokens / Math.max(1, stats.prefixQueriedTokens);
