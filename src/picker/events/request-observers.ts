import type { Outcome, RequestObserver, Routed, Usage } from '../../framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';
import type { JournalSubscriber } from './journal.ts';

/** A method that says what has happened. */
type Hook = Extract<keyof JournalSubscriber, `on${string}`>;
/** A subscriber that has this method. */
type Having<Name extends Hook> = JournalSubscriber & Required<Pick<JournalSubscriber, Name>>;

/**
 * All that observe a request: subscribers first, then plugins. One that throws is reported, and the
 * others are called all the same: no observer can fail a request or keep its reservation. The
 * observers of each event are found once: most observe two or three of the events, and a request
 * has each of them here and at each replica.
 */
export class RequestObservers {
  readonly #faults: PluginFaults;
  readonly #ofRouted: readonly Having<'onRouted'>[];
  readonly #ofBodyRead: readonly Having<'onBodyRead'>[];
  readonly #ofStreams: readonly Having<'onStream'>[];
  readonly #ofFirstToken: readonly Having<'onFirstToken'>[];
  readonly #ofTokens: readonly Having<'onToken'>[];
  readonly #ofAnswered: readonly Having<'onAnswered'>[];
  readonly #ofServed: readonly Having<'onServed'>[];
  readonly #ofEnded: readonly Having<'onEnded'>[];
  readonly #ofDone: readonly Having<'onDone'>[];
  /** Whether any of them needs `answered`. */
  readonly wantsAnswer: boolean;

  constructor(
    subscribers: readonly JournalSubscriber[],
    plugins: readonly RequestObserver[],
    faults: PluginFaults,
  ) {
    const all: readonly JournalSubscriber[] = [...subscribers, ...plugins];
    this.#faults = faults;
    this.#ofRouted = having(all, 'onRouted');
    this.#ofBodyRead = having(all, 'onBodyRead');
    this.#ofStreams = having(subscribers, 'onStream');
    this.#ofFirstToken = having(all, 'onFirstToken');
    this.#ofTokens = having(subscribers, 'onToken');
    this.#ofAnswered = having(all, 'onAnswered');
    this.#ofServed = having(subscribers, 'onServed');
    this.#ofEnded = having(subscribers, 'onEnded');
    this.#ofDone = having(all, 'onDone');
    this.wantsAnswer = this.#ofAnswered.some((each) => each.answersOptional !== true);
  }

  routed(routed: Routed): void {
    for (const each of this.#ofRouted) {
      try {
        each.onRouted(routed);
      } catch (error) {
        this.#faults.report(each, 'onRouted', error);
      }
    }
  }

  bodyRead(routed: Routed, request: InferenceRequest): void {
    for (const each of this.#ofBodyRead) {
      try {
        each.onBodyRead(routed, request);
      } catch (error) {
        this.#faults.report(each, 'onBodyRead', error);
      }
    }
  }

  streams(routed: Routed): void {
    for (const each of this.#ofStreams) {
      try {
        each.onStream(routed);
      } catch (error) {
        this.#faults.report(each, 'onStream', error);
      }
    }
  }

  firstToken(routed: Routed, at: Millis): void {
    for (const each of this.#ofFirstToken) {
      try {
        each.onFirstToken(routed, at);
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
        each.onToken(routed, at);
      } catch (error) {
        this.#faults.report(each, 'onToken', error);
      }
    }
  }

  answered(routed: Routed, conversation: PromptBlocks): void {
    for (const each of this.#ofAnswered) {
      try {
        each.onAnswered(routed, conversation);
      } catch (error) {
        this.#faults.report(each, 'onAnswered', error);
      }
    }
  }

  served(routed: Routed, address: string, at: Millis): void {
    for (const each of this.#ofServed) {
      try {
        each.onServed(routed, address, at);
      } catch (error) {
        this.#faults.report(each, 'onServed', error);
      }
    }
  }

  ended(routed: Routed, at: Millis, { outcome, usage, responseBytes, status }: Ending): void {
    for (const each of this.#ofEnded) {
      try {
        each.onEnded(routed, at, outcome, usage, responseBytes, status);
      } catch (error) {
        this.#faults.report(each, 'onEnded', error);
      }
    }
  }

  done(routed: Routed, at: Millis, { outcome, usage, responseBytes }: Ending): void {
    for (const each of this.#ofDone) {
      try {
        each.onDone(routed, at, outcome, usage, responseBytes);
      } catch (error) {
        this.#faults.report(each, 'onDone', error);
      }
    }
  }
}

function having<Name extends Hook>(
  all: readonly JournalSubscriber[],
  name: Name,
): readonly Having<Name>[] {
  return all.filter((each): each is Having<Name> => each[name] !== undefined);
}

/** How a request ended, as `RoutedRequest.done` has it. */
export interface Ending {
  readonly outcome: Outcome;
  readonly usage: Usage | undefined;
  readonly responseBytes: number | undefined;
  readonly status: number | undefined;
}
