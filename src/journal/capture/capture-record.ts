import type { CacheConfig } from '../../framework/endpoint-attributes.ts';
import type { RoutingErrorCode } from '../../framework/error.ts';
import type { Outcome } from '../../framework/observer.ts';
import type { ModelRewrite } from '../../framework/request.ts';
import type { HeldSum } from '../../framework/routing.ts';
import type { Decision } from '../../framework/scheduling.ts';

/** Readers refuse a capture of a later version. */
export const CAPTURE_VERSION = 3;

/** Consecutive block numbers. */
type BlockRun = readonly [first: number, count: number];

/** The blocks of a prompt: equal numbers stand for equal text from the start of the prompt. */
export type BlockRuns = readonly BlockRun[];

/** A text behind the first one of a request; `rest` as there. */
export type CapturedText = readonly [blocks: BlockRuns, rest?: number];

/** Token counts that the model server reported; `cached` is null where it reported none. */
type CapturedUsage = readonly [prompt: number, completion: number, cached: number | null];

/** The load of an endpoint, and when the endpoint reported it. */
export type CapturedSample = readonly [
  waiting: number,
  running: number,
  kvCacheUsage: number,
  sampledAt: number,
];

/** A request without its text: sizes, and which blocks it has in common with others. */
export interface CapturedRequest {
  readonly id: string;
  readonly model: string;
  readonly streaming: boolean;
  readonly outputTokensMax?: number | undefined;
  readonly promptTokens: number;
  readonly blockTokens: number;
  readonly blocks: BlockRuns;
  /** The number of what is behind the last full block; left out where nothing is known to be. */
  readonly rest?: number;
  /** The texts behind the first, where there are several. */
  readonly others?: readonly CapturedText[];
  readonly mediaItems?: number;
  readonly answerLength?: 'short' | 'long' | undefined;
  readonly rewrite?: ModelRewrite | undefined;
  readonly priority: number;
  /** Hashed with the capture's secret, except the default one. */
  readonly fairness: string;
  readonly objective?: string | undefined;
  readonly ttftSloMs?: number | undefined;
  readonly tpotSloMs?: number | undefined;
  readonly bodyBytes: number;
  /** Headers that plugins read: hashes, except names that the capture holds anyway. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface CapturedPick {
  readonly endpoint: string;
  /** NaN where the capture has none. */
  readonly score: number;
  /** Where its prompt is computed, if elsewhere. */
  readonly prefill?: string | undefined;
  /** The scheduler that decided, if it was not the configuration's profiles. */
  readonly by?: string | undefined;
}

/** What a challenger expected; `output` is null where it does not estimate answers. */
export type CapturedExpectation = readonly [
  cached: number,
  prefillCached: number,
  output: number | null,
];

/** The error that a request ended in. */
interface CapturedRefusal {
  readonly error: RoutingErrorCode;
  /** What refused it, if it was not the picker itself or the configuration's profiles. */
  readonly by?: string | undefined;
}

export type CapturedDecision = CapturedPick | CapturedRefusal;

/** What a capture holds of a decision; undefined where no endpoint was picked. */
export function decisionOf({ primary, prefill, decidedBy }: Decision): CapturedPick | undefined {
  const target = primary.kind === 'picked' ? primary.targets[0] : undefined;
  if (target === undefined) return undefined;
  return { endpoint: target.endpoint.id, score: target.score, prefill: prefill?.id, by: decidedBy };
}

/**
 * Requests that what decided before a record, with its challenger, still prepared then; left out
 * for none. In `challenge` and `withdraw` since `changesAgo` is written.
 */
type Undecided = number | undefined;

/** `t`: milliseconds of the picker's clock, which stands still during one input. */
export type CaptureRecord =
  | {
      readonly e: 'capture';
      readonly version: number;
      readonly seed: number;
      /** An EndpointPickerConfig with every default written out. */
      readonly config: unknown;
      /** Milliseconds since the Unix epoch at `t`. */
      readonly wallMs: number;
      /** Timers that the picker had set before this record; the next one has this number. */
      readonly timers?: number | undefined;
      readonly t: number;
      /** The number of files of the same run before this one. They may have been deleted. */
      readonly file: number;
      /** What a reader that begins here, without the files before, must know of the pool. */
      readonly pool?: readonly EndpointRecord[] | undefined;
      /** Records before this file were lost because writing failed: a run of its own begins. */
      readonly afterFailure?: true | undefined;
      /** Other pickers of the pool said what they do, which is in no capture. */
      readonly shared?: true | undefined;
    }
  | EndpointRecord
  | {
      readonly e: 'q';
      readonly t: number;
      readonly n: number;
      readonly r: CapturedRequest;
      readonly subset?: readonly string[] | undefined;
      /** `firstTokenVisible` and `endVisible` of `RouteOptions`: what the picker expects. */
      readonly firstTokenSeen: boolean;
      readonly endSeen: boolean;
      /** See `heldMs` of `Waited`; left out for none. */
      readonly waitedMs?: number | undefined;
      /** What waited for each endpoint; left out where nothing did. */
      readonly held?: readonly HeldSum[] | undefined;
      /** Whether another flow crowded out that of the request; left out where not. */
      readonly crowdedOut?: boolean | undefined;
      /**
       * How many configurations have been adopted since the one that decided, which had begun to
       * prepare the request; left out for the one in charge.
       */
      readonly adoptionsAgo?: number | undefined;
      /**
       * How many records `adopt`, `challenge` and `withdraw` have come since the plan decided that
       * decided this request; left out where these are as many as `adoptionsAgo`.
       */
      readonly changesAgo?: number | undefined;
      /** What a challenger, which is in no capture, expected of what it decided. */
      readonly expected?: CapturedExpectation | undefined;
      readonly d: CapturedDecision;
    }
  | { readonly e: 'body'; readonly t: number; readonly n: number; readonly r: CapturedRequest }
  /** The blocks of prompt and answer together. Since version 2. */
  | ({ readonly e: 'answer'; readonly t: number; readonly n: number } & Pick<
      CapturedRequest,
      'blockTokens' | 'blocks'
    >)
  | { readonly e: 'first'; readonly t: number; readonly n: number }
  | { readonly e: 'served'; readonly t: number; readonly n: number; readonly address: string }
  | {
      readonly e: 'done';
      readonly t: number;
      readonly n: number;
      readonly o: Outcome;
      readonly u?: CapturedUsage | undefined;
      readonly bytes?: number | undefined;
    }
  /** The timer with this number has fired. */
  | { readonly e: 'timer'; readonly t: number; readonly i: number }
  /** From here on another configuration decides, with all that is known of the pool. */
  | {
      readonly e: 'adopt';
      readonly t: number;
      readonly config: unknown;
      readonly undecided?: Undecided;
    }
  /**
   * From here on another configuration decides beside the one in charge: what has its name as `by`.
   */
  | {
      readonly e: 'challenge';
      readonly t: number;
      readonly name: string;
      readonly config: unknown;
      readonly undecided?: Undecided;
    }
  /** The challenger decides no more. */
  | { readonly e: 'withdraw'; readonly t: number; readonly undecided?: Undecided }
  /** This many records are missing: they came too fast, or writing failed. */
  | { readonly e: 'gap'; readonly records: number };

/** A change of the pool, or of what is known of one endpoint. */
export type EndpointRecord =
  | { readonly e: '+'; readonly id: string; readonly address: string; readonly labels: Labels }
  | { readonly e: '-'; readonly id: string }
  | { readonly e: 'labels'; readonly id: string; readonly labels: Labels }
  | { readonly e: 'm'; readonly id: string; readonly m: CapturedSample }
  | ({ readonly e: 'cache'; readonly id: string } & CacheConfig)
  | {
      readonly e: 'lora';
      readonly id: string;
      readonly running: readonly string[];
      readonly waiting: readonly string[];
      readonly max: number;
    }
  | { readonly e: 'started'; readonly id: string; readonly s: number }
  | { readonly e: 'custom'; readonly id: string; readonly values: Readonly<Record<string, number>> }
  /** By model, whether it is an adapter. */
  | {
      readonly e: 'models';
      readonly id: string;
      readonly models: Readonly<Record<string, boolean>>;
    }
  | { readonly e: 'gpu'; readonly id: string; readonly u: number }
  | { readonly e: 'engines'; readonly id: string; readonly n: number }
  /** Without tokens where what was known is no longer believed. */
  | { readonly e: 'window'; readonly id: string; readonly tokens?: number | undefined };

type Labels = Readonly<Record<string, string>>;

/** A request and the decision about it. */
export type DecidedRecord = Extract<CaptureRecord, { e: 'q' }>;

export type CaptureHead = Extract<CaptureRecord, { e: 'capture' }>;

/** Whether `head` begins a new run of a picker; else its file continues the run of `before`. */
export function isNewRun(
  head: Pick<CaptureHead, 'file' | 'seed' | 'afterFailure'>,
  before: Pick<CaptureHead, 'file' | 'seed'> | undefined,
): boolean {
  if (head.afterFailure === true) return true;
  return before === undefined || head.seed !== before.seed || head.file !== before.file + 1;
}
