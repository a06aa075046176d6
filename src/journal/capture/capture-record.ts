import type { RoutingErrorCode } from '../../framework/error.ts';
import type { Outcome } from '../../framework/observer.ts';
import type { ModelRewrite } from '../../framework/request.ts';

/** Readers refuse a capture of a later version. */
export const CAPTURE_VERSION = 3;

/** First and last of consecutive block numbers: equal numbers are equal text from the start. */
export type BlockRuns = readonly (readonly [first: number, count: number])[];

/** A request without its text: sizes, and which blocks it shares with others. */
export interface CapturedRequest {
  readonly id: string;
  readonly model: string;
  readonly streaming: boolean;
  readonly outputTokensMax?: number | undefined;
  readonly promptTokens: number;
  readonly blockTokens: number;
  readonly blocks: BlockRuns;
  readonly mediaItems?: number;
  readonly rewrite?: ModelRewrite | undefined;
  readonly priority: number;
  /** Hashed with the capture's secret, but for those who name none. */
  readonly fairness: string;
  readonly objective?: string | undefined;
  readonly ttftSloMs?: number | undefined;
  readonly tpotSloMs?: number | undefined;
  readonly bodyBytes: number;
  /** Those that the configuration reads: hashed with the capture's secret, but for names that the capture holds anyway. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What was decided: where to, by what score, and by which scheduler if not the configuration's; or the error it ended in. */
export type CapturedDecision =
  | {
      readonly endpoint: string;
      readonly score: number;
      readonly prefill?: string | undefined;
      readonly by?: string | undefined;
    }
  | { readonly error: RoutingErrorCode };

/**
 * One input of the decision core, in the order in which they came. `t` is its clock's time in milliseconds, all that it
 * sees of time during that input; `n` numbers requests.
 */
export type CaptureRecord =
  | {
      readonly e: 'capture';
      readonly version: number;
      /** Of all the core's chance. */
      readonly seed: number;
      /** An EndpointPickerConfig with nothing left to default. */
      readonly config: unknown;
      /** Since the Unix epoch, at `t`. */
      readonly wallMs: number;
      /** Timers that the core had set before this; the next has this number. */
      readonly timers?: number | undefined;
      readonly t: number;
      /** Files before this one; those may have been deleted. */
      readonly file: number;
      /** Who begins here, without the files before, must know of the pool: as records. */
      readonly pool?: readonly EndpointRecord[] | undefined;
    }
  | { readonly e: '+'; readonly id: string; readonly address: string; readonly labels: Labels }
  | { readonly e: '-'; readonly id: string }
  | { readonly e: 'labels'; readonly id: string; readonly labels: Labels }
  | {
      readonly e: 'm';
      readonly id: string;
      readonly m: readonly [waiting: number, running: number, kvCacheUsage: number, at: number];
    }
  | {
      readonly e: 'cache';
      readonly id: string;
      readonly blockTokens: number;
      readonly blocks: number;
    }
  | {
      readonly e: 'lora';
      readonly id: string;
      readonly running: readonly string[];
      readonly waiting: readonly string[];
      readonly max: number;
    }
  | { readonly e: 'started'; readonly id: string; readonly s: number }
  | { readonly e: 'custom'; readonly id: string; readonly values: Readonly<Record<string, number>> }
  | {
      readonly e: 'q';
      readonly t: number;
      readonly n: number;
      readonly r: CapturedRequest;
      readonly subset?: readonly string[] | undefined;
      readonly firstTokenSeen: boolean;
      readonly endSeen: boolean;
      readonly d: CapturedDecision;
    }
  | { readonly e: 'body'; readonly t: number; readonly n: number; readonly r: CapturedRequest }
  /** Blocks of prompt and answer together. Since version 2. */
  | {
      readonly e: 'answer';
      readonly t: number;
      readonly n: number;
      readonly blockTokens: number;
      readonly blocks: BlockRuns;
    }
  | { readonly e: 'first'; readonly t: number; readonly n: number }
  | { readonly e: 'served'; readonly t: number; readonly n: number; readonly address: string }
  | {
      readonly e: 'done';
      readonly t: number;
      readonly n: number;
      readonly o: Outcome;
      readonly u?: readonly [prompt: number, completion: number, cached: number | null] | undefined;
      readonly bytes?: number | undefined;
    }
  /** The core's own timer of this number has fired. */
  | { readonly e: 'timer'; readonly t: number; readonly i: number }
  /** From here on another configuration decided, with all that is known of the pool. */
  | { readonly e: 'adopt'; readonly t: number; readonly config: unknown }
  /** So many records were left out because they came faster than they could be written. */
  | { readonly e: 'gap'; readonly records: number };

/** What is told of an endpoint. */
export type EndpointRecord = Extract<
  CaptureRecord,
  { e: '+' | '-' | 'labels' | 'm' | 'cache' | 'lora' | 'started' | 'custom' }
>;

export type Labels = Readonly<Record<string, string>>;
