import { describe, expect, test } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { ConfigError } from '../framework/error.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { EMBEDDED_CATALOGUE } from './built-in-catalogue.ts';

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';

function load(body: string): PickerPlan {
  return loadConfig({ text: HEAD + body, source: 'test.yaml', catalogue: EMBEDDED_CATALOGUE });
}

/** `path: message` of every issue. */
function issuesOf(body: string): readonly string[] {
  try {
    load(body);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

describe('notification sources', () => {
  test('[D50] a precise-prefix configuration with a notification source loads', () => {
    const plan = load(`
plugins:
- type: endpoint-notification-source
- type: precise-prefix-cache-producer
- type: prefix-cache-scorer
  parameters: { prefixMatchInfoProducerName: precise-prefix-cache-producer }
dataLayer:
  sources:
  - pluginRef: endpoint-notification-source
    extractors:
    - pluginRef: precise-prefix-cache-producer
`);
    expect(plan.warnings).toEqual([]);
    expect(plan.plugins.map(({ name }) => name)).toContain('endpoint-notification-source');
  });

  test('[D50] a source of Kubernetes notifications needs a version and a kind', () => {
    expect(
      issuesOf('plugins:\n- { type: k8s-notification-source, parameters: { group: apps } }\n'),
    ).toEqual([
      expect.stringContaining('plugins[0].parameters.version'),
      expect.stringContaining('plugins[0].parameters.kind'),
    ]);
    const plan = load(
      'plugins:\n- { type: k8s-notification-source, parameters: { version: v1, kind: Pod } }\n',
    );
    expect(plan.warnings).toEqual([
      expect.stringContaining('discovery reports each change of endpoints to every plugin'),
    ]);
  });
});
