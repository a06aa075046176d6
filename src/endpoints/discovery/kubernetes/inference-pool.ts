import type { KubeObject } from './kube-objects.ts';

/** An InferencePool as received: its spec is unchecked. */
export interface InferencePool extends KubeObject {
  readonly spec?: unknown;
}

export interface InferencePoolSpec {
  readonly selector: string;
  /** At least one. Several ports are data-parallel ranks. */
  readonly ports: readonly number[];
  /** What its model servers speak, such as `http` or `kubernetes.io/h2c`. */
  readonly appProtocol?: string | undefined;
}

/** Each port is an endpoint of each pod: a pool with thousands of ports is a mistake. */
const PORTS_MAX = 64;

/** Reads a pool. `fault` is one sentence that says what to correct in it. */
export function readInferencePool({
  spec,
}: InferencePool): InferencePoolSpec | { readonly fault: string } {
  const { selector, targetPorts, appProtocol: speaks } = fieldsOf(spec);
  const labels = Object.entries(fieldsOf(fieldsOf(selector)['matchLabels']));
  // An empty selector would select every pod of the namespace.
  if (labels.length === 0) {
    return { fault: 'the pool selects no pods: give spec.selector.matchLabels a label' };
  }
  const wrong = labels.find(([, value]) => typeof value !== 'string');
  if (wrong !== undefined) {
    const [name, value] = wrong;
    return {
      fault: `the pool’s spec.selector.matchLabels.${name} is ${shown(value)}: make it text`,
    };
  }
  const ports = readPorts(targetPorts);
  if (!Array.isArray(ports)) return ports;
  const pairs = labels.map(([name, value]) => `${name}=${String(value)}`);
  const appProtocol = typeof speaks === 'string' ? speaks : undefined;
  return { selector: pairs.sort().join(','), ports, ...(appProtocol && { appProtocol }) };
}

function readPorts(targetPorts: unknown): number[] | { readonly fault: string } {
  if (!Array.isArray(targetPorts) || targetPorts.length === 0) {
    return { fault: 'the pool has no port: give spec.targetPorts one, such as - number: 8000' };
  }
  if (targetPorts.length > PORTS_MAX) {
    const fault = `the pool has ${targetPorts.length} ports: leave at most ${PORTS_MAX} in spec.targetPorts`;
    return { fault };
  }
  const ports: number[] = [];
  for (const [at, each] of targetPorts.entries()) {
    const { number } = fieldsOf(each);
    const isPort = typeof number === 'number' && Number.isInteger(number);
    if (!isPort || number < 1 || number > 65_535) {
      const fault = `the pool’s spec.targetPorts[${at}].number is ${shown(number)}: make it a port from 1 to 65535`;
      return { fault };
    }
    if (ports.includes(number)) {
      return { fault: `the pool’s spec.targetPorts has ${number} twice: leave one of them` };
    }
    ports.push(number);
  }
  return ports;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Readonly<Record<string, unknown>>) : {};
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, 100);
}
