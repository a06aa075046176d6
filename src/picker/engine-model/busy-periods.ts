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

/** A prompt in the line of its server, with what is known of the prompt before it. */
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
 * Finds the busy periods of servers that compute prompts for others, from the first tokens of these
 * prompts. A prompt that is sent while others are computed is done after all of them. So a whole
 * period shows how long its prompts took together, though it is not known how far the server had
 * come when the last of them was picked.
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
   * The first token of the request came at `at`. It shows at which time the server had computed the
   * prompt, `computedAt`, where that can be known. Returns the busy period that ended then;
   * undefined where its beginning is not known.
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

  /**
   * The request has ended. Without a first token it is not known how much of its prompt was
   * computed.
   */
  ended(routed: Routed): void {
    const sent = this.#take(routed);
    if (sent !== undefined) sent.before = undefined;
  }

  forget(slot: number): void {
    this.#lines.delete(slot);
  }

  /** Takes the prompt out of its server's line. */
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

/**
 * The busy period that ends with this prompt: it includes the prompts before it, if the server was
 * still busy with them. Undefined where its beginning is not known.
 */
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

/**
 * Whether one of several engines was free for it: its server sends a request to the one with
 * fewest.
 */
function isAlone({ prefillLoad }: Routed, prefill: Endpoint): boolean {
  const engines = prefill.attribute(ENGINE_COUNT);
  return engines > 1 && (prefillLoad?.requests ?? 0) < engines;
}

/**
 * Whether only prompts of this picker were there before it. Where it has to wait for one of several
 * engines, that is not known, and it counts as no.
 */
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
