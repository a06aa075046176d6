/** The reference's feature gates and their defaults. */
export const FEATURE_GATES: ReadonlyMap<string, boolean> = new Map([
  ['flowControl', false],
  ['haPopulateNonLeaderDatastore', true],
]);

/** What Go's `strconv.ParseBool` makes of a text in lower case. */
const SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'true'].map((text) => [text, true] as const),
  ...['0', 'f', 'false'].map((text) => [text, false] as const),
]);

export interface GateSwitch {
  readonly name: string;
  /** Undefined where the text is not a valid gate. */
  readonly wanted: boolean | undefined;
}

/** Reads `name`, `name=true` or `name=false`. */
export function gateSwitch(gate: string): GateSwitch {
  const [name = '', value = 'true', ...rest] = gate.split('=');
  const wanted = rest.length > 0 ? undefined : SWITCHES.get(value.trim().toLowerCase());
  return { name, wanted };
}

/** Whether the gate is on; where it is written several times, the last one counts. */
export function isGateOn(gates: readonly string[], name: string): boolean {
  const last = gates.map(gateSwitch).findLast((gate) => gate.name === name);
  return last?.wanted ?? FEATURE_GATES.get(name) ?? false;
}
