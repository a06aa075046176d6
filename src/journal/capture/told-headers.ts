import type { Endpoint } from '../../framework/endpoint.ts';
import type { HeaderUse } from '../../framework/plugin.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { encodedId } from '../../plugins/parameters/session-binding.ts';

/** Before what is hashed, so that it is not taken for a name. */
const HASHED = '#';

/** The headers that a configuration's plugins read, as a capture may hold them: names that are in it anyway, and hashes. */
export class ToldHeaders {
  readonly #hash: (text: string) => string;
  readonly #shadows: readonly PickerPlan[];
  #uses: readonly HeaderUse[] = [];
  #profiles: readonly string[] = [];
  readonly #endpoints = new Map<Endpoint['id'], Endpoint>();
  /** Names that the capture holds in the open; undefined when they have to be gathered anew. */
  #names: ReadonlySet<string> | undefined;

  /** What decides beside the one in charge reads headers, too. */
  constructor(hash: (text: string) => string, shadows: readonly PickerPlan[] = []) {
    this.#hash = hash;
    this.#shadows = shadows;
  }

  /** From here on the plugins of this plan read. */
  follow(plan: PickerPlan): void {
    const plans = [plan, ...this.#shadows];
    const uses = new Map<string, HeaderUse>();
    for (const { definition, config } of plans.flatMap(({ plugins }) => plugins)) {
      for (const use of definition.headers?.(config) ?? []) {
        // Who looks for names must find them; who looks for equals finds them among names, too.
        if (use.as === 'name' || !uses.has(use.name)) uses.set(use.name, use);
      }
    }
    this.#uses = [...uses.values()];
    this.#profiles = plans.flatMap(({ profiles }) => profiles).map(({ name }) => name);
    this.#names = undefined;
  }

  seen(endpoint: Endpoint): void {
    this.#endpoints.set(endpoint.id, endpoint);
    this.#names = undefined;
  }

  gone(id: Endpoint['id']): void {
    this.#endpoints.delete(id);
    this.#names = undefined;
  }

  /** Undefined where there is none of them. */
  tell(headers: ReadonlyMap<string, string>): Readonly<Record<string, string>> | undefined {
    let told: Record<string, string> | undefined;
    for (const { name, as } of this.#uses) {
      const value = headers.get(name);
      if (value === undefined) continue;
      told ??= {};
      told[name] = as === 'name' ? this.#named(value) : this.#hashed(value);
    }
    return told;
  }

  #named(value: string): string {
    this.#names ??= this.#gathered();
    const names = this.#names;
    if (names.has(value)) return value;
    const told = (part: string): string =>
      names.has(part.trim()) ? part : this.#hashed(part.trim());
    return value.split(',').map(told).join(',');
  }

  /** That there is none is no secret. */
  #hashed(text: string): string {
    return text === '' ? '' : HASHED + this.#hash(text);
  }

  #gathered(): ReadonlySet<string> {
    const names = new Set(this.#profiles);
    for (const { id, address, labels } of this.#endpoints.values()) {
      const host = address.slice(0, address.lastIndexOf(':'));
      for (const name of [id, encodedId(id), address, host, host.replace(/^\[(.*)\]$/, '$1')]) {
        names.add(name);
      }
      for (const value of labels.values()) names.add(value);
    }
    return names;
  }
}
