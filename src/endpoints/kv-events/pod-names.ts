import type { Endpoint } from '../../framework/endpoint.ts';
import { hostOf } from '../../framework/values/server-address.ts';

/** Messages of one unknown pod before it is reported: an endpoint may join after its first ones. */
const UNKNOWN_MESSAGES_MIN = 8;
/** The most names counted of pods that are no endpoints; anyone who can connect chooses them. */
const UNKNOWN_PODS_MAX = 100;
const POD_CHARS_MAX = 256;

/**
 * Finds what a topic's pod stands for, by the names that publishers use: `ip:port`, the name of the
 * endpoint with or without its namespace, and where one endpoint only has it, the host or pod.
 */
export class PodNames<T> {
  readonly #byName = new Map<string, Set<T>>();
  readonly #names = new Map<T, ReadonlySet<string>>();
  readonly #unknown = new Map<string, number>();
  readonly #onUnknown: (pod: string) => void;

  /** `onUnknown` is called once for a pod that is no endpoint and goes on publishing. */
  constructor(onUnknown: (pod: string) => void) {
    this.#onUnknown = onUnknown;
  }

  add(endpoint: Endpoint, value: T): void {
    const names = namesOf(endpoint);
    this.#names.set(value, names);
    for (const name of names) {
      const values = this.#byName.get(name);
      if (values === undefined) this.#byName.set(name, new Set([value]));
      else values.add(value);
    }
  }

  remove(value: T): void {
    for (const name of this.#names.get(value) ?? []) {
      const values = this.#byName.get(name);
      if (values?.delete(value) === true && values.size === 0) this.#byName.delete(name);
    }
    this.#names.delete(value);
  }

  clear(): void {
    this.#byName.clear();
    this.#names.clear();
  }

  /** Undefined for a name that no endpoint has, or several. */
  find(pod: string): T | undefined {
    const values = this.#byName.get(pod);
    if (values?.size === 1) return values.values().next().value;
    this.#countUnknown(pod.slice(0, POD_CHARS_MAX));
    return undefined;
  }

  #countUnknown(pod: string): void {
    const count = this.#unknown.get(pod) ?? 0;
    if (count === 0 && this.#unknown.size >= UNKNOWN_PODS_MAX) return;
    this.#unknown.set(pod, count + 1);
    if (count + 1 === UNKNOWN_MESSAGES_MIN) this.#onUnknown(pod);
  }
}

/** The pod of a topic `kv@<pod>@<model>`. */
export function podIn(topic: string): string {
  const from = topic.indexOf('@') + 1;
  const to = topic.indexOf('@', from);
  return topic.slice(from, to < 0 ? topic.length : to);
}

function namesOf({ id, address }: Endpoint): ReadonlySet<string> {
  const name = id.slice(id.lastIndexOf('/') + 1);
  const names = [id, name].map((each) => each.replace(/-rank-\d+$/, ''));
  return new Set([address, hostOf(address), id, name, ...names]);
}
