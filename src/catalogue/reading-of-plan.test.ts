import { describe, expect, it } from 'vitest';
import { planFromPlugins } from './plan.ts';
import { readingOfPlan } from './reading-of-plan.ts';

const config = (plugins: string): string =>
  `apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n${plugins}`;

describe('whose text of prompts is hashed', () => {
  it.each([
    ['reference-default', true],
    ['sticky', true],
    ['default', false],
    ['dynamo', false],
    ['least-queue', false],
    [config('- type: prefix-cache-scorer\n'), true],
    [config('- type: burst-prefix-cache-producer\n- type: queue-scorer\n'), true],
    [config('- type: precise-prefix-cache-scorer\n'), false],
  ])('[D283] %s', async (given, isReference) => {
    const text = given.includes('\n') ? given : undefined;
    const plan = await planFromPlugins(given, [], { text });
    expect(readingOfPlan(plan).referenceText).toBe(isReference);
  });
});
