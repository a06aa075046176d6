import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import type { CapturedDecision } from '../../src/journal/capture/capture-record.ts';
import { type RunOptions, type RunRedecision, redecide } from '../../src/redecide/redecide.ts';
import { type Redecision, sameDecision } from '../../src/redecide/redecision.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';

/** They decide a capture by its own configuration. */
export const REDECIDE_OPTIONS: RunOptions = {
  catalogue: EMBEDDED_CATALOGUE,
  randomOf: seededRandom,
};

/** Every request of a capture, decided again. */
export async function redecideAll(
  ...given: Parameters<typeof redecide>
): Promise<readonly RunRedecision[]> {
  const decided: RunRedecision[] = [];
  for await (const each of redecide(...given)) decided.push(each);
  return decided;
}

/** Those that are decided otherwise than the capture says. */
export function decidedOtherwise<Each extends Pick<Redecision, 'was' | 'is'>>(
  decided: readonly Each[],
): readonly Each[] {
  return decided.filter(({ was, is }) => !sameDecision(was, is));
}

export const sameEndpoint = (a: CapturedDecision, b: CapturedDecision): boolean =>
  'endpoint' in a && 'endpoint' in b && a.endpoint === b.endpoint;
