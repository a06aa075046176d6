import { objectOf } from '../../../../framework/values/plain-object.ts';
import { type KubeObject, leanMetadata } from '../watch/kube-objects.ts';
import type { PoolLabels } from './pool-labels.ts';

/** An InferencePool as received: its spec is unchecked. */
export interface InferencePool extends KubeObject {
  readonly metadata?: NonNullable<KubeObject['metadata']> & {
    readonly labels?: PoolLabels | undefined;
  };
  readonly spec?: unknown;
}

/** The pool without the metadata that is not read here. */
export function leanPool({ metadata, spec }: InferencePool): InferencePool {
  return { metadata: { ...leanMetadata(metadata), labels: metadata?.labels }, spec };
}

export interface InferencePoolSpec {
  readonly selector: string;
  /** At least one. Several ports are data-parallel ranks. */
  readonly ports: readonly number[];
  /** What its model servers speak, such as `http` or `kubernetes.io/h2c`. */
  readonly appProtocol?: string | undefined;
}

/** The group of pools before v1. It has one version, whose pools have bare labels and one port. */
const FORMER_GROUP = 'inference.networking.x-k8s.io';

/** The version of InferencePool that is followed in a group. */
export function poolVersionOf(group: string): string {
  return group === FORMER_GROUP ? 'v1alpha2' : 'v1';
}

/** Each port is an endpoint of each pod: a pool with thousands of ports is a mistake. */
const PORTS_MAX = 64;

/** Reads a pool of either version. `fault` is one sentence that says what to correct in it. */
export function readInferencePool({
  spec,
}: InferencePool): InferencePoolSpec | { readonly fault: string } {
  const fields = objectOf(spec);
  const { targetPortNumber, appProtocol: speaks } = fields;
  const isFormer = targetPortNumber !== undefined && fields['targetPorts'] === undefined;
  const targetPorts = isFormer ? [{ number: targetPortNumber }] : fields['targetPorts'];
  const selector = objectOf(fields['selector']);
  const path = isFormer ? 'spec.selector' : 'spec.selector.matchLabels';
  const labels = Object.entries(isFormer ? selector : objectOf(selector['matchLabels']));
  // An empty selector would select every pod of the namespace.
  if (labels.length === 0) return { fault: `the pool selects no pods: give ${path} a label` };
  const wrong = labels.find(([, value]) => typeof value !== 'string');
  if (wrong !== undefined) {
    const [name, value] = wrong;
    return { fault: `the pool’s ${path}.${name} is ${shown(value)}: make it text` };
  }
  const ports = readPorts(
    targetPorts,
    isFormer ? () => 'spec.targetPortNumber' : (at) => `spec.targetPorts[${at}].number`,
  );
  if (!Array.isArray(ports)) return ports;
  const pairs = labels.map(([name, value]) => `${name}=${String(value)}`);
  const appProtocol = typeof speaks === 'string' ? speaks : undefined;
  return { selector: pairs.sort().join(','), ports, ...(appProtocol && { appProtocol }) };
}

function readPorts(
  targetPorts: unknown,
  pathOf: (at: number) => string,
): number[] | { readonly fault: string } {
  if (!Array.isArray(targetPorts) || targetPorts.length === 0) {
    return { fault: 'the pool has no port: give spec.targetPorts one, such as - number: 8000' };
  }
  if (targetPorts.length > PORTS_MAX) {
    const fault = `the pool has ${targetPorts.length} ports: leave at most ${PORTS_MAX} in spec.targetPorts`;
    return { fault };
  }
  const ports: number[] = [];
  for (const [at, each] of targetPorts.entries()) {
    const { number } = objectOf(each);
    const isPort = typeof number === 'number' && Number.isInteger(number);
    if (!isPort || number < 1 || number > 65_535) {
      const fault = `the pool’s ${pathOf(at)} is ${shown(number)}: make it a port from 1 to 65535`;
      return { fault };
    }
    if (ports.includes(number)) {
      return { fault: `the pool’s spec.targetPorts has ${number} twice: leave one of them` };
    }
    ports.push(number);
  }
  return ports;
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, 100);
}
