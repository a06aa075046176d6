import { PRECISE_PREFIX_PRODUCER } from '../framework/keys.ts';

/**
 * Types that bring a plugin of another type with their own parameters, as the reference's wrappers do: the type brought,
 * which is also its name.
 */
export const COMPANIONS: ReadonlyMap<string, string> = new Map([
  ['precise-prefix-cache-scorer', PRECISE_PREFIX_PRODUCER],
]);
