import { readingOfPlan } from '../../catalogue/reading-of-plan.ts';
import type { ParserType } from '../../framework/parser-type.ts';
import type { PromptReading } from '../../framework/prompt-reading.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { ServeOptions } from '../options/serve-options.ts';

/** How requests are read by the plan in charge. */
export interface RequestReading {
  readonly parsers: () => readonly ParserType[];
  readonly propagatesPriority: () => boolean;
  readonly prompts: () => PromptReading;
}

/** Reads requests by the plan of the options, until a reload has another one adopted. */
export function requestReading(options: ServeOptions): {
  readonly reading: RequestReading;
  readonly adopt: (plan: PickerPlan) => void;
} {
  let current = readBy(options.plan, options);
  return {
    reading: {
      parsers: () => current.parsers,
      propagatesPriority: () => current.propagatesPriority,
      prompts: () => current.prompts,
    },
    adopt: (plan) => {
      current = readBy(plan, options);
    },
  };
}

interface ReadBy {
  readonly parsers: readonly ParserType[];
  readonly propagatesPriority: boolean;
  readonly prompts: PromptReading;
}

function readBy(plan: PickerPlan, { observe, shadowing }: ServeOptions): ReadBy {
  const { shadowPlans = [] } = shadowing;
  const { parsers = [], propagatesPriority = false } = plan;
  // Where this picker decides nothing, shadows of the reference shall know what the reference
  // knows.
  const prompts = readingOfPlan(plan, observe === true ? shadowPlans : []);
  return { parsers, propagatesPriority, prompts };
}
