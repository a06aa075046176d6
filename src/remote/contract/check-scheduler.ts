import { messageOf } from '../../framework/error.ts';
import { CONTRACT_RULES } from './rules.ts';
import type { OpenSession } from './scheduler-session.ts';

export interface RuleResult {
  readonly rule: string;
  readonly says: string;
  /** How the rule was broken; undefined if it was kept. */
  readonly fault: string | undefined;
}

/** Checks every rule on new streams; a module is not checked for the protocol's rules. */
export async function checkScheduler(
  open: OpenSession,
  { isModule = false }: { readonly isModule?: boolean } = {},
): Promise<readonly RuleResult[]> {
  const results: RuleResult[] = [];
  for (const { rule, says, check, wireOnly = false } of CONTRACT_RULES) {
    if (wireOnly && isModule) continue;
    const fault = await check(open).then(() => undefined, messageOf);
    results.push({ rule, says, fault });
  }
  return results;
}
