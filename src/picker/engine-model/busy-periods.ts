import type { Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import { type Routed, tokensToCompute } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import { promptFeatures } from './prompt-features.ts';

const NOTHING = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

/** A time in which a server did nothing but compute prompts, and what it computed. */
export interface BusyPeriod {
  readonly since: Millis;
  /** The sums of `promptFeatures` of its prompts, without what is fixed. */
  readonly features: readonly number[];
  /** The `promptFeatures` of its last prompt. */
  readonly last: readonly number[];
  /** The next prompt that was sent there. */
  readonly next: SentPrompt | undefined;
}

/** A prompt that was sent to a server that computes it for another. */
export interface SentPrompt {
  /** Undefined from its first token or its end on. */
  underWay: Routed | undefined;
  readonly at: Millis;
  /** `promptFeatures` of it alone, without what is fixed. */
  readonly features: readonly number[];
}

/** Where it stands in the line of its server. */
interface Sent {
  readonly prompt: SentPrompt;
  readonly tokens: number;
  /** Whether only prompts that were sent from here, in turn, were there before it. */
  readonly inTurn: boolean;
  /** The prompt that was sent there before it, while this one is under way. */
  before: Sent | undefined;
  /** When it was computed; undefined while that is not known. */
  computedBy: Millis | undefined;
  /** The period that it is the last prompt of, where that is known. */
  period: BusyPeriod | undefined;
  next: SentPrompt | undefined;
}

/** The prompts of one server. */
interface Line {
  last: Sent | undefined;
  /** Tokens of those under way. */
  tokens: number;
}

/**
 * Since when, and with which prompts, a server has been busy that computes prompts for others, as
 * their first tokens show it. A prompt that is sent there while others are computed is done after
 * all of them, so a whole period says how long its prompts took together, whatever came before the
 * pick of the last: how far the server had come with them then is not known.
 */
export class BusyPeriods {
  readonly #lines = new Map<number, Line>();
  readonly #sent = new Map<Routed, Sent>();

  sent(routed: Routed, prefill: Endpoint): void {
    const line = this.#lines.get(prefill.slot) ?? { last: undefined, tokens: 0 };
    this.#lines.set(prefill.slot, line);
    const tokens = tokensToCompute(routed);
    const sent: Sent = {
      prompt: { underWay: routed, at: routed.at, features: featuresAlone(routed, prefill) },
      tokens,
      inTurn: isInTurn(routed, prefill, line.tokens),
      before: isAlone(routed, prefill) ? undefined : line.last,
      computedBy: undefined,
      period: undefined,
      next: undefined,
    };
    if (line.last !== undefined) line.last.next = sent.prompt;
    line.last = sent;
    line.tokens += tokens;
    this.#sent.set(routed, sent);
  }

  /**
   * Its first token came at `at`. With `computedAt`, the time at which the server was done with it
   * by that, it ends a period; undefined where the beginning of that is not known.
   */
  firstToken(routed: Routed, at: Millis, computedAt?: Millis): BusyPeriod | undefined {
    const sent = this.#take(routed);
    if (sent === undefined) return undefined;
    const period = sent.inTurn && computedAt !== undefined ? periodOf(sent) : undefined;
    sent.computedBy = computedAt ?? at;
    sent.period = period;
    sent.before = undefined;
    return period;
  }

  /** Where it ended before its first token, nobody knows what of it was computed. */
  ended(routed: Routed): void {
    const sent = this.#take(routed);
    if (sent !== undefined) sent.before = undefined;
  }

  forget(slot: number): void {
    this.#lines.delete(slot);
  }

  /** It is under way no more. */
  #take(routed: Routed): Sent | undefined {
    const sent = this.#sent.get(routed);
    const line = routed.prefill && this.#lines.get(routed.prefill.slot);
    this.#sent.delete(routed);
    if (sent !== undefined) sent.prompt.underWay = undefined;
    if (sent !== undefined && line !== undefined) {
      line.tokens = Math.max(0, line.tokens - sent.tokens);
    }
    return sent;
  }
}

/** With the prompts before it, if the server was still busy with them. */
function periodOf({ prompt, before, next }: Sent): BusyPeriod | undefined {
  const { at, features } = prompt;
  const alone = { since: at, features, last: features, next };
  if (before === undefined) return alone;
  if (before.computedBy === undefined) return undefined;
  if (before.computedBy <= at) return alone;
  if (before.period === undefined) return undefined;
  const { since, features: earlier } = before.period;
  const all = features.map((each, index) => each + (earlier[index] as number));
  return { since, features: all, last: features, next };
}

/** One of several engines was free for it: its server sends a request to the one that has fewest. */
function isAlone({ prefillLoad }: Routed, prefill: Endpoint): boolean {
  const engines = prefill.attribute(ENGINE_COUNT);
  return engines > 1 && (prefillLoad?.requests ?? 0) < engines;
}

/** Not where others have sent prompts there, or it waits for one of several engines. */
function isInTurn(routed: Routed, prefill: Endpoint, tokensFromHere: number): boolean {
  if (isAlone(routed, prefill)) return true;
  if (prefill.attribute(ENGINE_COUNT) > 1) return false;
  return (routed.prefillLoad?.pendingPrefillTokens ?? 0) <= tokensFromHere + 1;
}

/** The features of the prompt at a server that does nothing else, without the fixed overhead. */
function featuresAlone(routed: Routed, endpoint: Endpoint): readonly number[] {
  const { promptTokens } = routed.request;
  const prompt = { promptTokens, uncachedTokens: tokensToCompute(routed) };
  const [tokens = 0, steps = 0, , squares = 0] = promptFeatures(
    { load: NOTHING, endpoint },
    prompt,
  );
  return [tokens, steps, 0, squares];
}
