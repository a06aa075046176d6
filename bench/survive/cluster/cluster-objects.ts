export const pool = (targetPort: number): object => ({
  apiVersion: 'inference.networking.k8s.io/v1',
  kind: 'InferencePool',
  metadata: { name: 'pool', namespace: 'default', uid: 'u', resourceVersion: '5' },
  spec: {
    selector: { matchLabels: { app: 'vllm' } },
    targetPorts: [{ number: targetPort }],
    endpointPickerRef: { name: 'epp' },
  },
});

interface PodExtras {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly version?: number;
}

export function podOf(name: string, ip: string, extras: PodExtras = {}): object {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      resourceVersion: String(extras.version ?? 6),
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: 'vllm', ...extras.labels },
      annotations: { ...extras.annotations },
    },
    spec: {
      nodeName: 'node',
      containers: [{ name: 'vllm', image: 'vllm', args: ['x'.repeat(2000)] }],
    },
    status: {
      phase: 'Running',
      podIP: ip,
      hostIP: '10.1.1.1',
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  };
}

export const pagedList = (items: readonly object[], more?: string): object => ({
  kind: 'List',
  apiVersion: 'v1',
  metadata: { resourceVersion: '10', ...(more !== undefined && { continue: more }) },
  items,
});
