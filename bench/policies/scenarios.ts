import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { conditionScenario } from '../scenarios/conditions.ts';
import { DISAGGREGATED } from '../scenarios/disaggregated.ts';
import { drawnScenario } from '../scenarios/drawn.ts';
import { otherScenario } from '../scenarios/other-engines.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { SYNTHETIC } from '../scenarios/synthetic.ts';
import { traceScenarios } from '../scenarios/traces.ts';
import { SITUATIONS } from '../situations/situations.ts';
import type { PolicyOptions } from './options.ts';

/** Random scenarios that are part of the whole comparison. */
const DRAWN = 20;
const OTHER = 12;

/** The scenarios that need recorded traces. */
export const TRACE_SCENARIOS: readonly string[] = traceScenarios('').map(({ name }) => name);

/** All chosen scenarios; those on recorded traces only where a folder with the traces is given. */
export function scenariosFrom(folder: string | undefined): readonly Scenario[] {
  const hasTraces = folder !== undefined && existsSync(join(folder, 'mooncake-conversation.jsonl'));
  return [...(hasTraces ? traceScenarios(folder) : []), ...SYNTHETIC, ...DISAGGREGATED];
}

/**
 * A scenario that only its name asks for: one that its number draws, `drawn-1`, or `other-1` on an
 * engine that is not the stub's, a condition, such as `memory-short`, or a situation, such as
 * `chat-usual`.
 */
export function namedScenario(name: string): Scenario | undefined {
  return (
    drawnScenario(name) ??
    otherScenario(name) ??
    conditionScenario(name) ??
    SITUATIONS.find((each) => each.name === name)
  );
}

/** The scenarios that the options ask for: without them, all. */
export function chosenScenarios(
  options: Partial<Pick<PolicyOptions, 'traces' | 'only' | 'drawn' | 'other'>>,
): readonly Scenario[] {
  const { only, traces, drawn, other } = options;
  const fixed = scenariosFrom(traces);
  if (only !== undefined)
    return only.map((name) => {
      const found = fixed.find((each) => each.name === name) ?? namedScenario(name);
      if (found === undefined) throw new Error(`no scenario ${name}, or it needs --traces`);
      return found;
    });
  const isWhole = drawn === undefined && other === undefined;
  const random = [
    ...numbered('drawn', isWhole ? DRAWN : drawn),
    ...numbered('other', isWhole ? OTHER : other),
  ].flatMap((name) => namedScenario(name) ?? []);
  return isWhole ? [...fixed, ...random] : random;
}

function numbered(prefix: string, count = 0): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
}
