import type { Endpoint } from '../../framework/endpoint.ts';
import type { HeaderUse } from '../../framework/plugin.ts';
import { hasPreference, IF_AVAILABLE } from '../../framework/preference.ts';
import { bareHostOf, hostOf } from '../../framework/values/server-address.ts';
import type { PickerPlan, PlannedPlugin, PlannedScheduler } from '../../picker/plan/picker-plan.ts';
import { encodedId } from '../../plugins/parameters/session-binding.ts';

/** Stands before each hash, so that no hash is taken for a name. */
const HASH_PREFIX = '#';

/**
 * Plans before the one in charge: a request is decided by the plan that began to prepare it. More
 * adoptions than these do not pass while a request is prepared.
 */
const EARLIER_MAX = 8;

/** What the plugins of a plan, and of the shadows beside it, read. */
interface Reading {
  readonly uses: readonly HeaderUse[];
  readonly profiles: readonly string[];
}

const NOTHING: Reading = { uses: [], profiles: [] };

/** Keeps names that a capture contains anyway readable; all other values become hashes. */
export class RedactedHeaders {
  readonly #hash: (text: string) => string;
  /** Plans that decide beside the one in charge: their plugins read headers, too. */
  readonly #shadows: readonly PickerPlan[];
  /** One for the plan in charge, then one for each plan before it, the latest first. */
  #readings: readonly Reading[] = [];
  readonly #endpoints = new Map<Endpoint['id'], Endpoint>();
  /** Names that stay readable; undefined when they must be collected again. */
  #names: ReadonlySet<string> | undefined;

  constructor(hash: (text: string) => string, shadows: readonly PickerPlan[] = []) {
    this.#hash = hash;
    this.#shadows = shadows;
  }

  /** From now on the plugins of this plan, and those of the shadows, read headers. */
  usePlan(plan: PickerPlan): void {
    const plans = [plan, ...this.#shadows];
    const uses = new Map<string, HeaderUse>();
    for (const { definition, config } of plans.flatMap(headerReaders)) {
      for (const use of definition.headers?.(config) ?? []) {
        // Names serve plugins that compare names and plugins that look for equal values.
        const key = `${use.name}\n${use.cookie ?? ''}`;
        if (use.as === 'name' || !uses.has(key)) uses.set(key, use);
      }
    }
    const profiles = plans.flatMap((each) => each.profiles).map(({ name }) => name);
    const earlier = this.#readings.slice(0, EARLIER_MAX);
    this.#readings = [{ uses: [...uses.values()], profiles }, ...earlier];
    this.#names = undefined;
  }

  setEndpoint(endpoint: Endpoint): void {
    this.#endpoints.set(endpoint.id, endpoint);
    this.#names = undefined;
  }

  removeEndpoint(id: Endpoint['id']): void {
    this.#endpoints.delete(id);
    this.#names = undefined;
  }

  /**
   * Undefined where the request has none of the headers that are read, by the plan so many
   * adoptions ago.
   */
  redact(
    headers: ReadonlyMap<string, string>,
    adoptionsAgo = 0,
  ): Readonly<Record<string, string>> | undefined {
    let redacted: Record<string, string> | undefined;
    const { uses } = this.#readings[adoptionsAgo] ?? this.#readings[0] ?? NOTHING;
    for (const { name, as, cookie } of uses) {
      const value = headers.get(name);
      if (value === undefined) continue;
      redacted ??= {};
      if (cookie !== undefined) {
        redacted[name] = this.#redactCookie(value, cookie, redacted[name]);
        continue;
      }
      redacted[name] = as === 'name' ? this.#redactNames(value) : this.#hashed(value);
    }
    // The decision itself reads this one.
    return hasPreference(headers, IF_AVAILABLE) ? { ...redacted, prefer: IF_AVAILABLE } : redacted;
  }

  /** Adds the hash of one cookie to those in `before`; nothing of the others is kept. */
  #redactCookie(cookies: string, name: string, before = ''): string {
    for (const pair of cookies.split(';')) {
      const equals = pair.indexOf('=');
      if (equals < 0 || pair.slice(0, equals).trim() !== name) continue;
      const kept = `${name}=${this.#hashed(pair.slice(equals + 1).trim())}`;
      return before === '' ? kept : `${before}; ${kept}`;
    }
    return before;
  }

  #redactNames(value: string): string {
    this.#names ??= this.#collectNames();
    const names = this.#names;
    if (names.has(value)) return value;
    return value
      .split(',')
      .map((part) => (names.has(part.trim()) ? part : this.#hashed(part.trim())))
      .join(',');
  }

  /** An empty value holds no secret. */
  #hashed(text: string): string {
    return text === '' ? '' : HASH_PREFIX + this.#hash(text);
  }

  #collectNames(): ReadonlySet<string> {
    const names = new Set(this.#readings.flatMap(({ profiles }) => profiles));
    for (const { id, address, labels } of this.#endpoints.values()) {
      const hosts = [hostOf(address), bareHostOf(address)];
      for (const name of [id, encodedId(id), address, ...hosts]) names.add(name);
      for (const value of labels.values()) names.add(value);
    }
    return names;
  }
}

/** A scheduler in place of the profiles reads headers as plugins do. */
function headerReaders({
  plugins,
  scheduler,
}: PickerPlan): readonly (PlannedPlugin | PlannedScheduler)[] {
  return scheduler === undefined ? plugins : [...plugins, scheduler];
}
