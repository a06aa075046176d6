import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DISAGGREGATED } from '../scenarios/disaggregated.ts';
import { drawnScenario } from '../scenarios/drawn.ts';
import { otherScenario } from '../scenarios/other-engines.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { SYNTHETIC } from '../scenarios/synthetic.ts';
import { traceScenarios } from '../scenarios/traces.ts';

/** All scenarios; those on recorded traces only where a folder with the traces is given. */
export function scenariosFrom(folder: string | undefined): readonly Scenario[] {
  const hasTraces = folder !== undefined && existsSync(join(folder, 'mooncake-conversation.jsonl'));
  return [...(hasTraces ? traceScenarios(folder) : []), ...SYNTHETIC, ...DISAGGREGATED];
}

/** A scenario that its number draws: `drawn-1`, or `other-1` on an engine that is not the stub's. */
export function randomScenario(name: string): Scenario | undefined {
  return drawnScenario(name) ?? otherScenario(name);
}
