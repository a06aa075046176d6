import type { Endpoint } from '../framework/endpoint.ts';
import type { Outcome, Routed, Usage } from '../framework/observer.ts';
import type {
  Candidates,
  Declined,
  ReplacementScheduler,
  SchedulerHost,
  SchedulerStatus,
} from '../framework/plugin.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { Millis, Timer } from '../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../framework/scheduling.ts';
import { Breaker } from './breaker.ts';
import { PendingUpdates } from './pending-updates.ts';
import { SchedulerLink } from './scheduler-link.ts';
import type { DecisionMessage, RequestMessage, Welcome } from './messages.ts';
import { type CheckedDecision, readDecision } from './read-decision.ts';
import { toRequestMessage } from './request-message.ts';
import { toDecision } from './result-of.ts';
import { PROTOCOL_VERSION } from './wire.ts';

export interface RemoteOptions {
  /** `unix:/path` or `host:port`. */
  readonly address: string;
  readonly deadlineMs: Millis;
  /** Requests that come within so long are asked about together; 0 asks at once. */
  readonly batchWindowMs: Millis;
  /** Lower-case names of request headers that it may see. */
  readonly headers: readonly string[];
  /** Of those it names, so many go to the proxy: one, and fallbacks. */
  readonly maxNumOfEndpoints: number;
  readonly tls: { readonly caPath?: string | undefined } | undefined;
}

interface Asked {
  readonly request: InferenceRequest;
  readonly candidates: Candidates;
  readonly deadline: Timer;
  /** Undefined for a trial, which nobody waits for. */
  readonly ready: (() => void) | undefined;
}

/** At the default deadline, 200,000 requests a second. */
const ASKED_MAX = 1000;
/** A timer that is so late says that the process was busy. */
const BUSY_MS = 2;
/** Without a request to send it with, news waits so long. */
const NEWS_MS = 100;

/** A scheduler in another process. It is asked before the cycle; the cycle takes its answer, if there is one by then. */
export class RemoteScheduler implements ReplacementScheduler {
  readonly #options: RemoteOptions;
  readonly #host: SchedulerHost;
  readonly #feed = new PendingUpdates();
  readonly #breaker: Breaker;
  readonly #link: SchedulerLink;
  readonly #asked = new Map<string, Asked>();
  readonly #answers = new WeakMap<InferenceRequest, CheckedDecision | Declined>();
  #batch: RequestMessage[] = [];
  #flushTimer: Timer | undefined;
  #newsTimer: Timer | undefined;
  #ignored = 0;
  /** Names of headers that it may see and wants to. */
  #shown: readonly string[] = [];
  #name: string;

  constructor(options: RemoteOptions, host: SchedulerHost) {
    const { clock, network } = host.runtime;
    const { address, tls, headers, deadlineMs } = options;
    this.#options = options;
    this.#host = host;
    this.#name = address;
    this.#breaker = new Breaker(clock);
    const hello = { version: PROTOCOL_VERSION, picker: 'pointsman', headers, deadlineMs };
    this.#link = new SchedulerLink({
      address,
      tls,
      clock,
      network,
      hello: () => ({ hello }),
      onWelcome: (welcome) => this.#begin(welcome),
      onDecisions: (decisions) => this.#take(decisions),
      onDown: () => this.#down(),
    });
  }

  prepare(request: InferenceRequest, candidates: Candidates, ready: () => void): boolean {
    const { welcome } = this.#link;
    if (welcome === undefined) return this.#decline(request, 'disconnected');
    if (this.#asked.size >= ASKED_MAX) return this.#decline(request, 'too-many-asked');
    const may = this.#breaker.admit();
    if (may === 'no') return this.#decline(request, 'breaker-open');
    const deadline = this.#deadline(request.id);
    const waits = may === 'yes';
    this.#asked.set(request.id, {
      request,
      candidates,
      deadline,
      ready: waits ? ready : undefined,
    });
    this.#batch.push(toRequestMessage(request, candidates, welcome.blockHashesMax, this.#shown));
    if (!waits) this.#decline(request, 'breaker-open');
    this.#flushSoon();
    return waits;
  }

  schedule(endpoints: readonly Endpoint[], context: SchedulingContext): Decision | Declined {
    const answer = this.#answers.get(context.request) ?? { declined: 'not-asked' };
    return 'declined' in answer
      ? answer
      : toDecision(answer, endpoints, {
          decidedBy: this.#name,
          targetsMax: this.#options.maxNumOfEndpoints,
        });
  }

  status(): SchedulerStatus {
    return {
      name: this.#name,
      connected: this.#link.welcome !== undefined,
      breaker: this.#breaker.state,
      ignoredAnswers: this.#ignored,
    };
  }

  stop(): void {
    this.#flushTimer?.cancel();
    this.#newsTimer?.cancel();
    this.#link.stop();
    this.#down();
  }

  onEndpointAdded(endpoint: Endpoint): void {
    this.#feed.onEndpointAdded(endpoint);
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    this.#feed.onEndpointChanged(endpoint, previous);
  }

  onEndpointRemoved(endpoint: Endpoint): void {
    this.#feed.onEndpointRemoved(endpoint);
  }

  onRouted(routed: Routed): void {
    this.#feed.onRouted(routed);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    this.#feed.onFirstToken(routed, at);
  }

  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    this.#feed.onDone(routed, at, outcome, usage);
  }

  #begin(welcome: Welcome): void {
    this.#shown = welcome.headers.filter((name) => this.#options.headers.includes(name));
    if (welcome.name !== '') this.#name = welcome.name.slice(0, 64);
    this.#feed.begin(welcome);
    this.#breaker.allowTrial();
    this.#flush();
    this.#newsLater();
  }

  /** Nobody waits for an answer that cannot come any more. */
  #down(): void {
    this.#feed.begin(undefined);
    this.#newsTimer?.cancel();
    this.#batch = [];
    const waiting = [...this.#asked.values()];
    this.#asked.clear();
    // One failure, however many were waiting: until it is back nobody is asked anyway.
    if (waiting.length > 0) this.#breaker.recordFailure();
    for (const each of waiting) {
      each.deadline.cancel();
      this.#settle(each, { declined: 'disconnected' });
    }
  }

  #take(decisions: readonly DecisionMessage[]): void {
    for (const decision of decisions) {
      const asked = this.#asked.get(decision.id);
      if (asked === undefined) {
        this.#ignored += 1;
        continue;
      }
      this.#asked.delete(decision.id);
      asked.deadline.cancel();
      const answer = readDecision(decision, asked.candidates);
      if ('declined' in answer && answer.declined !== 'no-opinion') this.#breaker.recordFailure();
      else this.#breaker.recordSuccess();
      this.#settle(asked, answer);
    }
  }

  #deadline(id: string): Timer {
    const { clock } = this.#host.runtime;
    const { deadlineMs } = this.#options;
    const dueAt = clock.now() + deadlineMs;
    return clock.setTimer(deadlineMs, () => {
      // The process was busy: an answer may have come in time, and is read in this turn of the loop.
      if (clock.now() - dueAt < BUSY_MS) this.#late(id);
      else clock.setTimer(0, () => this.#late(id));
    });
  }

  #late(id: string): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    this.#asked.delete(id);
    this.#breaker.recordFailure();
    this.#settle(asked, { declined: 'deadline' });
  }

  #settle({ request, ready }: Asked, answer: CheckedDecision | Declined): void {
    if (ready === undefined) return;
    this.#answers.set(request, answer);
    ready();
  }

  #decline(request: InferenceRequest, declined: string): false {
    this.#answers.set(request, { declined });
    return false;
  }

  #flushSoon(): void {
    const { batchWindowMs } = this.#options;
    if (batchWindowMs === 0) this.#flush();
    else {
      this.#flushTimer ??= this.#host.runtime.clock.setTimer(batchWindowMs, () => this.#flush());
    }
  }

  #flush(): void {
    this.#flushTimer?.cancel();
    this.#flushTimer = undefined;
    if (this.#batch.length === 0 && !this.#feed.pending) return;
    const requests = this.#batch;
    this.#batch = [];
    this.#link.send({ ...this.#feed.take(this.#host.now()), requests });
  }

  #newsLater(): void {
    this.#newsTimer = this.#host.runtime.clock.setTimer(NEWS_MS, () => {
      if (this.#link.welcome === undefined) return;
      this.#flush();
      this.#newsLater();
    });
  }
}
