import type { InferenceRequest } from '../../framework/request.ts';
import type { Router } from '../../framework/routing.ts';
import type { BodyReader, RequestHead } from '../../openai/body/body-reader.ts';

/**
 * `earlyPickBytes` unless given: below Envoy's buffer, and enough text to recognize a prompt.
 */
export const EARLY_PICK_BYTES: number = 128 * 1024;

/**
 * How sessions pick and answer, as flags say. Plain values: I/O workers get the same object whole,
 * so that a flag works there, too.
 */
export interface SessionSettings {
  /**
   * A body that streams past is picked for after so many bytes. Must be below the proxy's buffer
   * limit (1 MiB by default), beyond which the proxy waits for the pick for ever.
   */
  readonly earlyPickBytes: number;
  /**
   * In full duplex, the response does not pass through the picker: its tokens cost nothing here,
   * and its end is not seen.
   */
  readonly halfCloseAfterPick: boolean;
  /** Whether the proxy gets the score of each endpoint as metadata. */
  readonly emitEndpointScores?: boolean | undefined;
  /** Whether model servers are asked for their load with each answer; clients do not see it. */
  readonly asksLoadReports?: boolean | undefined;
  /** Requests may go to any endpoint, whatever subset the proxy names. */
  readonly ignoreSubset?: boolean | undefined;
}

/** What a session gets from the pool and the configuration: how it reads, picks and answers. */
export interface SessionRules extends SessionSettings {
  readonly router: Router;
  readonly openBody: (head: RequestHead) => BodyReader;
  readonly headerOnly: (head: RequestHead) => InferenceRequest;
  /**
   * Whether requests may ask for an endpoint alone (`Prefer: reserve-endpoint`); no if undefined.
   */
  readonly answersEndpointOnly?: (() => boolean) | undefined;
}
