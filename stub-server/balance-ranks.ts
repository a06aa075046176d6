import type { Clock } from '../src/framework/runtime.ts';
import { type BalancingRule, EngineBalancer } from './engine/engine-balancer.ts';
import type { StubReplica } from './http/replica/stub-replica.ts';
import type { DialectName } from './metrics/engine-page.ts';

/** How the servers of each kind spread requests over their engines. */
const RULES: Readonly<Record<DialectName, BalancingRule>> = {
  vllm: 'in-flight',
  'vllm-2025': 'queues',
  sglang: 'turns',
  // Its metrics do not distinguish ranks, and options refuse several engines.
  trtllm: 'turns',
};

/** Lets a server spread requests over its ranks, if they are engines behind one address. */
export function balanceRanks(ranks: readonly StubReplica[], clock: Clock): void {
  const [first] = ranks;
  if (first === undefined || first.options.engines === 1) return;
  const rule = RULES[first.options.engine];
  const engines = ranks.map(({ engine }) => engine);
  const balancer = new EngineBalancer(engines, { rule, clock });
  for (const rank of ranks) rank.balancer = balancer;
}
