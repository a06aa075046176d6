/** The default policy behind flow control, as one would write it for a pool that is overloaded. */
export interface FlowConfig {
  /** The type of the fairness policy, with its parameters as YAML. */
  readonly fairness?: readonly [type: string, parameters: string];
  /** How long a request may wait; bands of a priority may say another time. */
  readonly ttl: string;
  readonly bands?: string;
}

/**
 * The next request leaves when an endpoint has hardly any prompt to compute. So what comes next
 * waits here, where order and shares count.
 */
export function withFlowControl({ fairness, ttl, bands = '' }: FlowConfig): string {
  const [type, parameters] = fairness ?? ['global-strict-fairness-policy', '{}'];
  return `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
plugins:
  - type: approx-prefix-cache-producer
  - type: predicted-cost-scorer
  - type: ${type}
    parameters: ${parameters}
  - type: backlog-detector
schedulingProfiles:
  - name: default
    plugins: [{pluginRef: predicted-cost-scorer}]
flowControl:
  maxRequests: 20000
  defaultRequestTTL: ${ttl}
  saturationDetector: {pluginRef: backlog-detector}
  defaultPriorityBand: {maxRequests: 20000, fairnessPolicyRef: ${type}}
  ${bands}
`;
}
