import type { Endpoint } from '../../framework/endpoint.ts';
import { invariant } from '../../framework/error.ts';
import type { CycleFact } from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis, Random } from '../../framework/runtime.ts';
import type { CycleKey, SchedulingContext } from '../../framework/scheduling.ts';

export interface ContextOptions {
  readonly request: InferenceRequest;
  readonly now: Millis;
  readonly random: Random;
}

/** Facts by the name of their key. */
export type FactTable = ReadonlyMap<string, CycleFact<unknown>>;

/** The context of one cycle. Each fact is computed at most once, over all `endpoints`. */
export function createContext(
  { request, now, random }: ContextOptions,
  endpoints: readonly Endpoint[],
  facts: FactTable,
): SchedulingContext {
  const known = new Map<string, unknown>();
  const context: SchedulingContext = {
    request,
    now,
    random,
    get<T>(key: CycleKey<T>): T {
      if (!known.has(key.name)) {
        const fact = facts.get(key.name);
        if (fact === undefined) {
          invariant(
            false,
            `nothing provides ${key.name}: a plugin or scheduler that reads it has to name it in its needs`,
          );
        }
        known.set(key.name, fact.compute(endpoints, context));
      }
      return known.get(key.name) as T;
    },
  };
  return context;
}
