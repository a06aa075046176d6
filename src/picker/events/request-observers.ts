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
  readonly #faults: PluginFaults;
  /** Whether any of them needs `answered`. */
  readonly wantsAnswer: boolean;
  // Those that need a call, by its name: to ask each for it costs more than most calls.
  readonly #onRouted: readonly RequestObserver[];
  readonly #onBodyRead: readonly RequestObserver[];
  readonly #onStream: readonly JournalSubscriber[];
  readonly #onFirstToken: readonly RequestObserver[];
  readonly #onToken: readonly JournalSubscriber[];
  readonly #onAnswered: readonly RequestObserver[];
  readonly #onServed: readonly JournalSubscriber[];
  readonly #onEnded: readonly JournalSubscriber[];
  readonly #onDone: readonly RequestObserver[];

  constructor(
    subscribers: readonly JournalSubscriber[],
    plugins: readonly RequestObserver[],
    faults: PluginFaults,
  ) {
    this.#faults = faults;
    const all = [...subscribers, ...plugins];
    this.#onRouted = all.filter((each) => each.onRouted !== undefined);
    this.#onBodyRead = all.filter((each) => each.onBodyRead !== undefined);
    this.#onStream = subscribers.filter((each) => each.onStream !== undefined);
    this.#onFirstToken = all.filter((each) => each.onFirstToken !== undefined);
    this.#onToken = subscribers.filter((each) => each.onToken !== undefined);
    this.#onAnswered = all.filter((each) => each.onAnswered !== undefined);
    this.#onServed = subscribers.filter((each) => each.onServed !== undefined);
    this.#onEnded = subscribers.filter((each) => each.onEnded !== undefined);
    this.#onDone = all.filter((each) => each.onDone !== undefined);
    const wanting = [...subscribers.filter((each) => each.answersOptional !== true), ...plugins];
    this.wantsAnswer = wanting.some((each) => each.onAnswered !== undefined);
  }

  routed(routed: Routed): void {
    for (const each of this.#onRouted) {
      try {
        each.onRouted?.(routed);
      } catch (error) {
        this.#faults.report(each, 'onRouted', error);
      }
    }
  }

  bodyRead(routed: Routed, request: InferenceRequest): void {
    for (const each of this.#onBodyRead) {
      try {
        each.onBodyRead?.(routed, request);
      } catch (error) {
        this.#faults.report(each, 'onBodyRead', error);
      }
    }
  }

  streams(routed: Routed): void {
    for (const each of this.#onStream) {
      try {
        each.onStream?.(routed);
      } catch (error) {
        this.#faults.report(each, 'onStream', error);
      }
    }
  }

  firstToken(routed: Routed, at: Millis): void {
    for (const each of this.#onFirstToken) {
      try {
        each.onFirstToken?.(routed, at);
      } catch (error) {
        this.#faults.report(each, 'onFirstToken', error);
      }
    }
  }

  get wantsTokens(): boolean {
    return this.#onToken.length > 0;
  }

  token(routed: Routed, at: Millis): void {
    for (const each of this.#onToken) {
      try {
        each.onToken?.(routed, at);
      } catch (error) {
        this.#faults.report(each, 'onToken', error);
      }
    }
  }

  answered(routed: Routed, conversation: PromptBlocks): void {
    for (const each of this.#onAnswered) {
      try {
        each.onAnswered?.(routed, conversation);
      } catch (error) {
        this.#faults.report(each, 'onAnswered', error);
      }
    }
  }

  served(routed: Routed, address: string, at: Millis): void {
    for (const each of this.#onServed) {
      try {
        each.onServed?.(routed, address, at);
      } catch (error) {
        this.#faults.report(each, 'onServed', error);
      }
    }
  }

  ended(routed: Routed, at: Millis, { outcome, usage, responseBytes }: Ending): void {
    for (const each of this.#onEnded) {
      try {
        each.onEnded?.(routed, at, outcome, usage, responseBytes);
      } catch (error) {
        this.#faults.report(each, 'onEnded', error);
      }
    }
  }

  done(routed: Routed, at: Millis, { outcome, usage, responseBytes }: Ending): void {
    for (const each of this.#onDone) {
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
