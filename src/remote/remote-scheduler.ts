import type { Endpoint } from '../framework/endpoint.ts';
import type { Outcome, Routed, Usage } from '../framework/observer.ts';
import type { SchedulerHost } from '../framework/plugin.ts';
import {
  type Candidates,
  type Declined,
  NO_OPINION,
  type ReplacementScheduler,
  type SchedulerStatus,
} from '../framework/replacement.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { Millis, Timer } from '../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../framework/scheduling.ts';
import { whyNoConnection } from '../runtime/network/client/no-connection.ts';
import { Breaker } from './breaker.ts';
import {
  type DecisionMessage,
  PROTOCOL_VERSION,
  type RequestMessage,
  type Welcome,
} from './messages.ts';
import { Outgoing } from './outgoing.ts';
import { PendingUpdates } from './pending-updates.ts';
import { type CheckedDecision, checkDecision, toDecision } from './read-decision.ts';
import { toRequestMessage } from './request-message.ts';
import { SchedulerLink } from './scheduler-link.ts';
import { StateHistory } from './scheduler-state.ts';

export interface RemoteOptions {
  /** `unix:/path` or `host:port`. */
  readonly address: string;
  readonly deadlineMs: Millis;
  /** Requests of this time are sent in one message; 0 sends each at once. */
  readonly batchWindowMs: Millis;
  /** Lower-case names of the request headers that it may ask for. */
  readonly headers: readonly string[];
  readonly tls: { readonly caPath?: string | undefined } | undefined;
}

interface PendingDecision {
  readonly request: InferenceRequest;
  readonly candidates: Candidates;
  readonly deadline: Timer;
  /** Undefined while the request is being sent, and for the breaker's trial: none waits for it. */
  ready: (() => void) | undefined;
}

/** 200,000 requests a second at the default deadline. */
const PENDING_MAX = 1000;
/** A timer that fires this late was delayed by a busy process. */
const BUSY_MS = 2;

/** `prepare` asks the other process; `schedule` declines where no decision came in time. */
export class RemoteScheduler implements ReplacementScheduler {
  readonly #options: RemoteOptions;
  readonly #host: SchedulerHost;
  readonly #updates = new PendingUpdates();
  readonly #breaker: Breaker;
  readonly #link: SchedulerLink;
  readonly #pending = new Map<string, PendingDecision>();
  readonly #answers = new WeakMap<InferenceRequest, CheckedDecision | Declined>();
  readonly #outgoing: Outgoing;
  readonly #history: StateHistory;
  #ignored = 0;
  /** Names of the headers that it may ask for and has asked for. */
  #headers: readonly string[] = [];
  #name: string;

  constructor(options: RemoteOptions, host: SchedulerHost) {
    const { clock, network } = host.runtime;
    const { address, tls, headers, deadlineMs, batchWindowMs } = options;
    this.#options = options;
    this.#host = host;
    this.#name = address;
    this.#breaker = new Breaker(clock);
    this.#history = new StateHistory(clock);
    const send = (requests: readonly RequestMessage[]): void => this.#send(requests);
    this.#outgoing = new Outgoing({ clock, batchWindowMs, send });
    const hello = { version: PROTOCOL_VERSION, picker: 'pointsman', headers, deadlineMs };
    this.#link = new SchedulerLink({
      address,
      tls,
      clock,
      network,
      hello: () => ({ hello }),
      onWelcome: (welcome) => this.#onWelcome(welcome),
      onDecisions: (decisions) => this.#onDecisions(decisions),
      onFailed: (reason) => this.#history.become('gone', whyNoConnection(reason) || reason),
      onDown: () => this.#onDown(),
    });
  }

  prepare(request: InferenceRequest, candidates: Candidates, ready: () => void): boolean {
    const { welcome } = this.#link;
    if (welcome === undefined) return this.#decline(request, 'disconnected');
    if (this.#pending.size >= PENDING_MAX) return this.#decline(request, 'too-many-asked');
    const may = this.#breaker.admit();
    if (may === 'no') return this.#decline(request, 'breaker-open');
    const deadline = this.#startDeadline(request.id);
    const pending: PendingDecision = { request, candidates, deadline, ready: undefined };
    this.#pending.set(request.id, pending);
    const message = toRequestMessage(request, candidates, welcome.blockHashesMax, this.#headers);
    this.#link.expectAnswer(candidates.endpoints.length);
    this.#outgoing.add(message);
    if (may === 'trial') return this.#decline(request, 'breaker-open');
    // To send the request can end the stream at once: then there is nothing to wait for.
    if (this.#pending.get(request.id) !== pending) return this.#decline(request, 'disconnected');
    pending.ready = ready;
    return true;
  }

  schedule(endpoints: readonly Endpoint[], context: SchedulingContext): Decision | Declined {
    const answer = this.#answers.get(context.request) ?? { declined: 'not-asked' };
    if ('declined' in answer) return answer;
    return toDecision(answer, endpoints, this.#name);
  }

  status(): SchedulerStatus {
    const { state, since, cause, lastError, changes } = this.#history;
    return {
      state,
      since,
      cause,
      lastError,
      changes,
      name: this.#name,
      connected: this.#link.welcome !== undefined,
      breaker: this.#breaker.state,
      ignoredAnswers: this.#ignored,
      unanswered: this.#pending.size,
    };
  }

  stop(): void {
    this.#link.stop();
    this.#onDown();
  }

  onEndpointAdded(endpoint: Endpoint): void {
    this.#updates.onEndpointAdded(endpoint);
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    this.#updates.onEndpointChanged(endpoint, previous);
  }

  onEndpointRemoved(endpoint: Endpoint): void {
    this.#updates.onEndpointRemoved(endpoint);
  }

  onRouted(routed: Routed): void {
    this.#updates.onRouted(routed);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    this.#updates.onFirstToken(routed, at);
  }

  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    this.#updates.onDone(routed, at, outcome, usage);
  }

  #onWelcome(welcome: Welcome): void {
    const asked = new Set(welcome.headers);
    this.#headers = this.#options.headers.filter((name) => asked.has(name));
    if (welcome.name !== '') this.#name = welcome.name.slice(0, 64);
    this.#updates.restart(welcome);
    this.#breaker.allowTrial();
    this.#noteBreaker('it has connected', 'it has connected, and is tried');
    this.#outgoing.begin();
  }

  /** Declines all pending requests: their decisions cannot come any more. */
  #onDown(): void {
    this.#updates.restart(undefined);
    this.#outgoing.end();
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    // One failure for all of them: no request is sent until the stream is back.
    if (waiting.length > 0) this.#breaker.recordFailure();
    for (const each of waiting) {
      each.deadline.cancel();
      this.#settle(each, { declined: 'disconnected' });
    }
  }

  #onDecisions(decisions: readonly DecisionMessage[]): void {
    for (const decision of decisions) {
      const pending = this.#pending.get(decision.id);
      if (pending === undefined) {
        this.#ignored += 1;
        continue;
      }
      this.#pending.delete(decision.id);
      pending.deadline.cancel();
      const answer = checkDecision(decision, pending.candidates);
      if ('declined' in answer && answer.declined !== NO_OPINION) {
        this.#recordFailure(`its answer is ${answer.declined}`);
      } else this.#recordSuccess();
      this.#settle(pending, answer);
    }
  }

  #startDeadline(id: string): Timer {
    const { clock } = this.#host.runtime;
    const { deadlineMs } = this.#options;
    const dueAt = clock.now() + deadlineMs;
    return clock.setTimer(deadlineMs, () => {
      // If the process was busy, a decision may have come in time: it is read in this turn.
      if (clock.now() - dueAt < BUSY_MS) this.#onDeadline(id);
      else clock.setTimer(0, () => this.#onDeadline(id));
    });
  }

  #onDeadline(id: string): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    this.#recordFailure(`it did not answer within ${this.#options.deadlineMs} ms`);
    if (this.#breaker.state !== 'closed') this.#link.doubt();
    this.#settle(pending, { declined: 'deadline' });
  }

  #recordFailure(cause: string): void {
    this.#breaker.recordFailure();
    this.#noteBreaker('', cause);
  }

  #recordSuccess(): void {
    this.#breaker.recordSuccess();
    this.#noteBreaker('it answers in time', '');
  }

  /** While the breaker is not closed, requests do not wait for the scheduler. */
  #noteBreaker(whyConnected: string, whySlow: string): void {
    if (this.#link.welcome === undefined) return;
    if (this.#breaker.state !== 'closed') {
      if (whySlow !== '') this.#history.become('slow', whySlow);
    } else if (whyConnected !== '') this.#history.become('connected', whyConnected);
  }

  #settle({ request, ready }: PendingDecision, answer: CheckedDecision | Declined): void {
    if (ready === undefined) return;
    this.#answers.set(request, answer);
    ready();
  }

  #decline(request: InferenceRequest, declined: string): false {
    this.#answers.set(request, { declined });
    return false;
  }

  #send(requests: readonly RequestMessage[]): void {
    if (requests.length === 0 && !this.#updates.pending) return;
    this.#link.send({ ...this.#updates.take(this.#host.now()), requests });
  }
}
