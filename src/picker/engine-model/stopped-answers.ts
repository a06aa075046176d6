import { promptMs } from '../../cost-model/step-time.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import { type Routed, tokensToCompute, type Usage } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import { SeparateSteps } from './separate-steps.ts';

/** What is less than so many steps apart came from the same step. */
const SAME_STEP = 0.25;
/** Answers say something where at least this share of their steps has first tokens of others. */
const SHARE_MIN = 0.1;
const SHARE_MAX = 0.9;
/**
 * Where engines put both in one step, at least so many of the answers that end in a step with a
 * first token are seen to do so, and at most so many where engines do not: messages of a step do not
 * all come at the same time.
 */
const SEEN_WHERE_SHARED = 0.5;
const SEEN_WHERE_STOPPED = 0.1;
/**
 * The evidence, a logarithm of odds, from which on the answers of an engine count as stopped: some
 * twelve ends, because many prompts come where it matters.
 */
const PROOF = 6;
/** More is not kept, so that an engine that has changed is noticed. */
const EVIDENCE_MAX = 16;

/** An answer under way: when its first token came, and what the server had computed until then. */
interface Begun {
  readonly server: Server;
  readonly at: Millis;
  readonly firstTokenSteps: number;
  readonly promptsMs: Millis;
}

/** What is known of a server. */
interface Server {
  /** Steps in which first tokens came, and when the last of these tokens came. */
  firstTokenSteps: number;
  firstTokenAt: Millis;
  /** How long the prompts of these tokens take by the prior. */
  promptsMs: Millis;
  /** When the last answer ended that says something. */
  endedAt: Millis;
  /** The share of steps with first tokens, where it is not known yet whether its last step had one. */
  openShare: number | undefined;
  evidence: number;
  /** The last request that was sent there, until its first token. */
  newest: Routed | undefined;
  /** What answers show if they stop. */
  readonly separate: SeparateSteps;
}

/**
 * Learns which engines stop the answers under way while they compute prompts. An answer has n
 * tokens after the first, and in p of its steps others got first tokens. Its last step is one of
 * these p in p of n cases, where a step has both prompts and answers. Where a step has only one of
 * the two, no answer ends with a first token. So neither the speed of the engine nor the length of
 * prompts has to be known.
 */
export class StoppedAnswers {
  /** By slot. */
  readonly #servers: (Server | undefined)[] = [];
  readonly #begun = new Map<Routed, Begun>();

  /**
   * What a prompt that is sent there now counts as a stop of each answer under way: 0 where they do
   * not stop. A prompt that waits for the end of the step under way is computed with those that were
   * sent since that step began.
   */
  stopMs(slot: number, now: Millis): Millis {
    const server = this.#servers[slot];
    if (server === undefined || server.evidence < PROOF) return 0;
    const { newest, separate } = server;
    return separate.stopMs(newest === undefined ? Number.POSITIVE_INFINITY : now - newest.at);
  }

  onRouted(routed: Routed): void {
    if (!isComputedByOne(routed)) return;
    const server = (this.#servers[routed.endpoint.slot] ??= newServer());
    server.newest = routed;
  }

  onFirstToken(routed: Routed, at: Millis): void {
    const server = this.#serverOf(routed);
    if (server === undefined) return;
    const sameStepMs = SAME_STEP * server.separate.fixedMs;
    if (server.newest === routed) server.newest = undefined;
    if (server.openShare !== undefined) weigh(server, at - server.endedAt <= sameStepMs);
    if (at - server.firstTokenAt > sameStepMs) server.firstTokenSteps += 1;
    server.firstTokenAt = at;
    const { promptTokens } = routed.request;
    server.promptsMs += promptMs({ promptTokens, uncachedTokens: tokensToCompute(routed) });
    const { firstTokenSteps, promptsMs } = server;
    this.#begun.set(routed, { server, at, firstTokenSteps, promptsMs });
  }

  onDone(routed: Routed, at: Millis, usage: Usage | undefined): void {
    const begun = this.#begun.get(routed);
    this.#begun.delete(routed);
    const server = this.#serverOf(routed);
    if (server === undefined) return;
    if (server.newest === routed) server.newest = undefined;
    const steps = (usage?.completionTokens ?? 0) - 1;
    // Another endpoint may have the slot by now.
    if (begun?.server !== server || !(steps > 0)) return;
    const promptSteps = server.firstTokenSteps - begun.firstTokenSteps;
    server.separate.observe({
      steps,
      promptSteps,
      promptMs: server.promptsMs - begun.promptsMs,
      ms: at - begun.at,
      tpotSloMs: routed.request.tpotSloMs,
    });
    const share = promptSteps / steps;
    if (share >= SHARE_MIN) ended(server, at, Math.min(SHARE_MAX, share));
  }

  forget(slot: number): void {
    this.#servers[slot] = undefined;
  }

  #serverOf(routed: Routed): Server | undefined {
    return isComputedByOne(routed) ? this.#servers[routed.endpoint.slot] : undefined;
  }
}

/** Whether one engine computes the prompt and writes the answer. */
function isComputedByOne({ endpoint, prefill }: Routed): boolean {
  return prefill === undefined && endpoint.attribute(ENGINE_COUNT) === 1;
}

function newServer(): Server {
  return {
    firstTokenSteps: 0,
    firstTokenAt: Number.NEGATIVE_INFINITY,
    promptsMs: 0,
    endedAt: Number.NEGATIVE_INFINITY,
    openShare: undefined,
    evidence: 0,
    newest: undefined,
    separate: new SeparateSteps(),
  };
}

/** Answers that end in the same step say the same, so the first of them counts for all. */
function ended(server: Server, at: Millis, share: number): void {
  const sameStepMs = SAME_STEP * server.separate.fixedMs;
  if (at - server.endedAt <= sameStepMs) return;
  if (server.openShare !== undefined) weigh(server, false);
  server.endedAt = at;
  server.openShare = share;
  if (at - server.firstTokenAt <= sameStepMs) weigh(server, true);
}

function weigh(server: Server, isShared: boolean): void {
  const share = server.openShare ?? 0;
  server.openShare = undefined;
  const [shared, stopped] = [share * SEEN_WHERE_SHARED, share * SEEN_WHERE_STOPPED];
  const odds = isShared ? stopped / shared : (1 - stopped) / (1 - shared);
  const evidence = server.evidence + Math.log(odds);
  server.evidence = Math.max(0, Math.min(EVIDENCE_MAX, evidence));
}
