import type { RoutedRequest } from '../../src/framework/routing.ts';
import type { Clock } from '../../src/framework/runtime.ts';
import { createPicker, type EmbeddedPicker } from '../../src/index.ts';
import type { OpenReplicaLink } from '../../src/replicas/links/link.ts';

/** One sends to both pickers, each of the others to one of them. */
const TENANTS = ['everywhere', 'here', 'there'] as const;
/** Requests of a tenant that wait at a picker at any time. */
const WAITING = 4;
const IN_FLIGHT_MAX = 4;
const PROMPT_TOKENS = 1000;
/** Far longer than the time in which pickers learn of each other. */
const SERVED_MS = 100;
const PRIORITY = 7;
const USAGE = { promptTokens: PROMPT_TOKENS, completionTokens: 10, cachedTokens: 0 };

export interface TenantsAtPickers {
  /** Requests of each tenant that were placed, in the order of `TENANTS`. */
  placed(): readonly number[];
  stop(): void;
}

/**
 * Two pickers with flow control in front of one endpoint, and three tenants that always have
 * requests waiting. Each request is served for some time.
 */
export function sendToTwoPickers(
  fairness: string,
  { clock, openLinks }: { readonly clock: Clock; readonly openLinks: readonly OpenReplicaLink[] },
): TenantsAtPickers {
  const placed = new Map<string, number>(TENANTS.map((tenant) => [tenant, 0]));
  let stopped = false;
  const pickers = openLinks.map((openLink, n) => {
    const replica = { id: `p${n}`, openLink };
    const picker = createPicker({ config: configOf(fairness), seed: n, clock, replica });
    picker.addEndpoint({ id: 'e0', address: '10.0.0.1:8000' });
    return picker;
  });
  const send = (picker: EmbeddedPicker, fairnessId: string): void => {
    const serve = (routed: RoutedRequest): void => {
      placed.set(fairnessId, (placed.get(fairnessId) ?? 0) + 1);
      clock.setTimer(SERVED_MS, () => {
        routed.done('completed', USAGE);
        if (!stopped) send(picker, fairnessId);
      });
    };
    const request = { model: 'm', promptTokens: PROMPT_TOKENS, fairnessId, priority: PRIORITY };
    const routed = picker.enqueueWith(request, { placed: serve, refused: () => undefined });
    if (routed !== undefined) serve(routed);
  };
  const [first, second] = pickers as [EmbeddedPicker, EmbeddedPicker];
  for (let n = 0; n < WAITING; n++) {
    for (const picker of pickers) send(picker, 'everywhere');
    send(first, 'here');
    send(second, 'there');
  }
  return {
    placed: () => TENANTS.map((tenant) => placed.get(tenant) ?? 0),
    stop: () => {
      stopped = true;
      for (const picker of pickers) picker.stop();
    },
  };
}

function configOf(fairness: string): string {
  return `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
plugins:
  - { type: queue-scorer }
  - { type: ${fairness} }
  - { type: concurrency-detector, parameters: { maxConcurrency: ${IN_FLIGHT_MAX}, headroom: 0 } }
flowControl:
  defaultRequestTTL: 10m
  saturationDetector: { pluginRef: concurrency-detector }
  defaultPriorityBand: { fairnessPolicyRef: ${fairness} }
schedulingProfiles:
  - { name: default, plugins: [{ pluginRef: queue-scorer }] }
`;
}
