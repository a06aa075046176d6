import type { Engine } from '../engine/engine.ts';
import type { EngineStats } from './engine-stats.ts';
import type { Histogram } from './histogram.ts';

/** What a page is made from. */
export interface MetricsSource {
  readonly engine: Engine;
  readonly stats: EngineStats;
  readonly model: string;
  /** Data-parallel rank. */
  readonly rank: number;
  readonly blockTokens: number;
  readonly kvBlocks: number;
  /** Adapters the server may hold at once; 0 where it serves none. */
  readonly lorasMax: number;
  /** Seconds since the epoch, in model time. */
  readonly wallSeconds: () => number;
  /** When the server's process began, likewise. */
  readonly startSeconds: () => number;
}

export type Labels = Readonly<Record<string, string>>;

/** One line of a family. Labels that change from scrape to scrape are given with the value. */
export interface Series {
  readonly labels?: Labels;
  /** Not printed where it gives undefined; nor is the family where all do. */
  readonly value: (source: MetricsSource) => number | undefined;
}

interface Named {
  /** As it stands on the page, a counter's `_total` included. */
  readonly name: string;
  readonly help: string;
}

export type Family =
  | (Named & { readonly type: 'gauge' | 'counter'; readonly series: readonly Series[] })
  | (Named & {
      readonly type: 'histogram';
      readonly histogram: (stats: EngineStats) => Histogram;
    })
  /** A gauge whose labels are the news. Not printed where it gives undefined. */
  | (Named & {
      readonly type: 'info';
      readonly info: (
        source: MetricsSource,
      ) => { readonly labels: Labels; readonly value: number } | undefined;
    });

/** A metric system's names for what an engine does. */
export interface Dialect {
  /** On every series that does not bring its own. */
  readonly labels: (source: MetricsSource) => Labels;
  readonly families: readonly Family[];
}
