import type { ModelRewriteRule } from '../endpoints/rewrites/model-rewrites.ts';
import type { ServerLimits } from '../extproc/server/port/server-limits.ts';
import type { TlsContext } from '../extproc/server/port/tls-credentials.ts';
import type { SessionSettings } from '../extproc/session/session-rules.ts';
import type { ParserType } from '../framework/parser-type.ts';
import type { PromptReading } from '../framework/prompt-reading.ts';
import type { Batch } from './batch.ts';
import type { Preparing } from './remote-router.ts';

/** What an I/O worker gets when it starts, and needs to answer gateways by itself. */
export interface IoWorkerSetup {
  readonly host: string;
  /** Each worker listens there itself, and the system spreads connections over them. */
  readonly port: number;
  readonly tls: TlsContext | 'plaintext';
  /** They hold for all workers together. */
  readonly limits: ServerLimits;
  readonly bodyBytesMax: number;
  readonly settings: SessionSettings;
  /** Whether control headers and fields of clients count. */
  readonly trustClientControls: boolean;
  /**
   * Equal to those of the deciding thread: rewrites choose alike, and prompts have the same hashes.
   */
  readonly seed: number;
  readonly secret: Uint32Array;
  /** Whether requests are followed for traces or the access log. */
  readonly follows: boolean;
  /** Whether the times of streams are reported, and those of whole streams, too. */
  readonly times: 'none' | 'messages' | 'streams';
  /** Which of the cells it writes what its streams take to, and those of all workers. */
  readonly number: number;
  readonly cells: readonly Float64Array<SharedArrayBuffer>[];
  readonly reading: ReadingRules;
  readonly serving: boolean;
}

/** How requests are read, which a change of the configuration or of the pool's rules changes. */
export interface ReadingRules {
  readonly priorities: ReadonlyMap<string, number>;
  readonly rewrites: readonly ModelRewriteRule[];
  readonly parsers: readonly ParserType[];
  readonly propagatesPriority: boolean;
  readonly prompts: PromptReading;
  /** Whether requests may ask for an endpoint alone. */
  readonly answersEndpointOnly: boolean;
  readonly preparing: Preparing;
}

/** What the deciding thread sends besides batches. */
export type ToWorker =
  | { readonly kind: 'batch'; readonly batch: Batch }
  /** Answered with `adopted`. */
  | { readonly kind: 'reading'; readonly reading: ReadingRules }
  | { readonly kind: 'serving'; readonly serving: boolean }
  | { readonly kind: 'tls'; readonly context: TlsContext }
  /** Answered with `alive`. */
  | { readonly kind: 'ping' }
  | { readonly kind: 'drain'; readonly noticeMs: number; readonly deadlineMs: number };

/** What an I/O worker sends besides batches. */
export type ToCore =
  | { readonly kind: 'batch'; readonly batch: Batch }
  | { readonly kind: 'listening' }
  | { readonly kind: 'alive' }
  /** What was read before has been sent. */
  | { readonly kind: 'adopted' }
  | { readonly kind: 'failed'; readonly name: string; readonly message: string }
  | { readonly kind: 'drained' };
