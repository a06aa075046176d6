import { CONTRACT_RULES } from './rules.ts';
import type { OpenSession } from './session.ts';

export interface RuleResult {
  readonly rule: string;
  readonly says: string;
  /** What came instead; undefined where the claim holds. */
  readonly fault: string | undefined;
}

/** Tries every claim, each on streams of its own; of a module those that are not of the protocol. */
export async function checkScheduler(
  open: OpenSession,
  { isModule = false }: { readonly isModule?: boolean } = {},
): Promise<readonly RuleResult[]> {
  const results: RuleResult[] = [];
  for (const { rule, says, check, wireOnly = false } of CONTRACT_RULES) {
    if (wireOnly && isModule) continue;
    const fault = await check(open).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    results.push({ rule, says, fault });
  }
  return results;
}
