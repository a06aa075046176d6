import type { PluginFault } from '../../framework/error.ts';
import type { Clock, Millis, Network } from '../../framework/runtime.ts';
import type { EmbeddedPicker, EmbeddedPickerOptions } from '../../library/create-picker.ts';
import { SimulatedNetwork } from '../../replicas/links/simulated-network.ts';

export interface PickersOptions {
  /** A configuration as text or by name. */
  readonly config: string;
  readonly seed: number;
  readonly createPicker: (options: EmbeddedPickerOptions) => EmbeddedPicker;
  /** Pickers in front of the pool, among which requests are divided by chance; 1 when left out. */
  readonly replicas?: number;
  /** How long what one picker does takes to the others; undefined: they share nothing. */
  readonly shareDelayMs?: Millis | undefined;
}

interface OpenPickersOptions extends PickersOptions {
  readonly clock: Clock;
  readonly onFault: (fault: PluginFault) => void;
  /** Undefined: no scheduler in another process is asked. */
  readonly schedulerNetwork: Network | undefined;
}

/**
 * Sets the seeds of the pickers apart: two with one seed would draw alike. The first has `seed`.
 */
const SEED_STEP = 7919;

/** The pickers of a simulation, which share what they do where that has a delay. */
export function openPickers({
  config,
  seed,
  clock,
  onFault,
  createPicker,
  replicas = 1,
  shareDelayMs,
  schedulerNetwork,
}: OpenPickersOptions): readonly EmbeddedPicker[] {
  const network =
    shareDelayMs === undefined ? undefined : new SimulatedNetwork({ clock, delayMs: shareDelayMs });
  return Array.from({ length: replicas }, (_, index) =>
    createPicker({
      config,
      seed: seed + SEED_STEP * index,
      clock,
      onFault,
      schedulerNetwork,
      ...(network && { replica: { id: `p${index}`, openLink: network.open } }),
    }),
  );
}
