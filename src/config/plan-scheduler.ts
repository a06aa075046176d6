import { z } from 'zod';
import { nearest } from '../files/nearest.ts';
import { zodIssues } from '../files/zod-issues.ts';
import type { ConfigIssue } from '../framework/error.ts';
import type { SchedulerDefinition } from '../framework/plugin.ts';
import type { PlannedScheduler } from '../picker/plan/picker-plan.ts';
import type { SchedulerEntry } from './schema.ts';

/**
 * The scheduler that decides in place of the profiles; undefined where none is configured. Adds
 * errors to `issues`.
 */
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
  try {
    return { definition, config: definition.config.parse(fields) };
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    issues.push(...zodIssues(error, { schema: definition.config, at: 'scheduler' }));
    return undefined;
  }
}
