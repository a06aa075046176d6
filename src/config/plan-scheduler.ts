import { nearest } from '../files/nearest.ts';
import { parseOrReport } from '../files/zod-issues.ts';
import type { ConfigIssue } from '../framework/error.ts';
import type { SchedulerDefinition } from '../framework/plugin.ts';
import type { PlannedScheduler } from '../picker/plan/picker-plan.ts';
import type { SchedulerEntry } from './schema.ts';

/** The scheduler in place of the profiles, if there is one. Adds errors to `issues`. */
export function planScheduler(
  entry: SchedulerEntry | null | undefined,
  definitions: readonly SchedulerDefinition[],
  issues: ConfigIssue[],
): PlannedScheduler | undefined {
  if (entry === undefined || entry === null) return undefined;
  const { type, ...fields } = entry;
  const definition = definitions.find((each) => each.type === type);
  if (definition === undefined) {
    const known = definitions.map((each) => each.type);
    const hint = nearest(type, known) || `; the known ones are ${known.join(', ') || 'none'}`;
    issues.push({ path: 'scheduler.type', message: `${type} is not a known scheduler${hint}` });
    return undefined;
  }
  const read = parseOrReport(definition.config, fields, 'scheduler', issues);
  return read && { definition, config: read.parsed };
}
