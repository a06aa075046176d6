import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import { ConfigError } from '../../src/framework/error.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';

export const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';

/** The plan of a configuration without its first two lines. */
export function load(body: string, head: string = HEAD): PickerPlan {
  return loadConfig({ text: head + body, source: 'test.yaml', catalogue: EMBEDDED_CATALOGUE });
}

/** `path: message` of every issue. */
export function issuesOf(body: string, head: string = HEAD): readonly string[] {
  try {
    load(body, head);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}
