import type { InFlightLoad } from '../../framework/cycle-facts.ts';
import type { Outcome, Usage } from '../../framework/observer.ts';
import type { PromptBlocks } from '../../framework/request.ts';
import type { FirstBand } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { PromptTail } from './prompt-words.ts';

/** What has become of a request of another replica. Its time counts from the message's origin. */
export type Entry = RoutedEntry | ChangeEntry | PromptEntry | DoneEntry | WaitingEntry;

export interface RoutedEntry {
  readonly kind: 'routed';
  readonly number: number;
  readonly afterMs: Millis;
  readonly endpoint: string;
  readonly prefill: string | undefined;
  readonly model: string;
  readonly objective: string | undefined;
  readonly fairnessId: string;
  /** 0 where an earlier version has sent it. */
  readonly priority: number;
  readonly streaming: boolean;
  readonly firstTokenVisible: boolean;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokensMax: number | undefined;
  readonly bodyBytes: number;
  readonly load: InFlightLoad;
  readonly prompt: PromptBlocks;
}

export interface ChangeEntry {
  readonly kind: 'first-token' | 'served';
  readonly number: number;
  readonly afterMs: Millis;
  /** The endpoint that serves it, as `host:port`; empty for a first token. */
  readonly address: string;
}

/** The prompt is known to its end, or its answer is. */
export interface PromptEntry {
  readonly kind: 'body-read' | 'answered';
  readonly number: number;
  readonly promptTokens: number;
  /** How many blocks are those of the prompt that was sent when the request was routed. */
  readonly from: number;
  readonly words: Uint32Array;
  /** What follows them. */
  readonly tail: PromptTail;
}

export interface DoneEntry {
  readonly kind: 'done';
  readonly number: number;
  readonly afterMs: Millis;
  readonly outcome: Outcome;
  readonly usage: Usage | undefined;
}

/** What waits for flow control at the sender. A batch without it says that nothing does. */
export interface WaitingEntry extends FirstBand {
  readonly kind: 'waiting';
}

/** How a kind is written. Readers skip kinds that they do not know. */
export const ENTRY_CODE = {
  routed: 1,
  'first-token': 2,
  served: 3,
  'body-read': 4,
  answered: 5,
  done: 6,
  waiting: 7,
} as const;

/** Bits of what is true of a routed request. */
export const ROUTED_FLAG = { streaming: 1, firstTokenVisible: 2 } as const;
