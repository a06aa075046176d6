import { expect, it } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../config/load.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { servingPlan } from './serving-plan.ts';

const planOf = (more: string): PickerPlan =>
  loadConfig({
    text: `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: queue-scorer}]
schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]
${more}`,
    source: 'test',
    catalogue: EMBEDDED_CATALOGUE,
  });

it('[O156] writes the part of the command line into the configuration that captures contain', () => {
  const part = { number: 2, of: 3 };
  const plan = servingPlan(planOf('capacity: {maxConcurrency: 8}'), part);
  expect(plan.capacity).toEqual({ maxConcurrency: 8, part });
  expect(plan.effective).toMatchObject({ capacity: { maxConcurrency: 8, part } });
  expect(servingPlan(planOf(''), part).capacity).toBeUndefined();
});

it('[O156] refuses a part that there is not', () => {
  const capacity = 'capacity: {maxConcurrency: 8, part: {number: 4, of: 3}}';
  expect(() => planOf(capacity)).toThrow('capacity.part: number is that of this picker');
});
