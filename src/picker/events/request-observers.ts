import type { Outcome, RequestObserver, Routed, Usage } from '../../framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';
import type { JournalSubscriber } from './journal.ts';

/**
 * All that observe a request: subscribers first, then plugins. One that throws is reported, and the
 * others are called all the same: no observer can fail a request or keep its reservation.
 */
export class RequestObservers {
  readonly #subscribers: readonly JournalSubscriber[];
  readonly #all: readonly RequestObserver[];
  readonly #faults: PluginFaults;
  /** Whether any of them needs `answered`. */
  readonly wantsAnswer: boolean;
  /** The subscribers that need `token`: few, as it is called for each piece of a stream. */
  readonly #ofTokens: readonly JournalSubscriber[];

  constructor(
    subscribers: readonly JournalSubscriber[],
    plugins: readonly RequestObserver[],
    faults: PluginFaults,
  ) {
    this.#subscribers = subscribers;
    this.#all = [...subscribers, ...plugins];
    this.#faults = faults;
    this.#ofTokens = subscribers.filter((each) => each.onToken !== undefined);
    const wanting = [...subscribers.filter((each) => each.answersOptional !== true), ...plugins];
    this.wantsAnswer = wanting.some((each) => each.onAnswered !== undefined);
  }

  routed(routed: Routed): void {
    for (const each of this.#all) {
      try {
        each.onRouted?.(routed);
      } catch (error) {
        this.#faults.report(each, 'onRouted', error);
      }
    }
  }

  bodyRead(routed: Routed, request: InferenceRequest): void {
    for (const each of this.#all) {
      try {
        each.onBodyRead?.(routed, request);
      } catch (error) {
        this.#faults.report(each, 'onBodyRead', error);
      }
    }
  }

  streams(routed: Routed): void {
    for (const each of this.#subscribers) {
      try {
        each.onStream?.(routed);
      } catch (error) {
        this.#faults.report(each, 'onStream', error);
      }
    }
  }

  firstToken(routed: Routed, at: Millis): void {
    for (const each of this.#all) {
      try {
        each.onFirstToken?.(routed, at);
      } catch (error) {
        this.#faults.report(each, 'onFirstToken', error);
      }
    }
  }

  get wantsTokens(): boolean {
    return this.#ofTokens.length > 0;
  }

  token(routed: Routed, at: Millis): void {
    for (const each of this.#ofTokens) {
      try {
        each.onToken?.(routed, at);
      } catch (error) {
        this.#faults.report(each, 'onToken', error);
      }
    }
  }

  answered(routed: Routed, conversation: PromptBlocks): void {
    for (const each of this.#all) {
      try {
        each.onAnswered?.(routed, conversation);
      } catch (error) {
        this.#faults.report(each, 'onAnswered', error);
      }
    }
  }

  served(routed: Routed, address: string, at: Millis): void {
    for (const each of this.#subscribers) {
      try {
        each.onServed?.(routed, address, at);
      } catch (error) {
        this.#faults.report(each, 'onServed', error);
      }
    }
  }

  ended(routed: Routed, at: Millis, { outcome, usage, responseBytes }: Ending): void {
    for (const each of this.#subscribers) {
      try {
        each.onEnded?.(routed, at, outcome, usage, responseBytes);
      } catch (error) {
        this.#faults.report(each, 'onEnded', error);
      }
    }
  }

  done(routed: Routed, at: Millis, { outcome, usage, responseBytes }: Ending): void {
    for (const each of this.#all) {
      try {
        each.onDone?.(routed, at, outcome, usage, responseBytes);
      } catch (error) {
        this.#faults.report(each, 'onDone', error);
      }
    }
  }
}

/** How a request ended, as `RoutedRequest.done` has it. */
export interface Ending {
  readonly outcome: Outcome;
  readonly usage: Usage | undefined;
  readonly responseBytes: number | undefined;
}
