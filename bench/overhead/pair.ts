import {
  addressesOf,
  type BedOptions,
  behindEnvoy,
  type Side,
  startPicker,
  startUpstream,
  type Tools,
} from '../load/bed.ts';
import { startTogether } from '../load/child.ts';

/** One picker without a feature and one with it. */
export interface Pair {
  readonly without: Side;
  readonly with: Side;
  /** Metrics port of the picker with the feature. */
  readonly metricsPort: number;
  /** The model servers of both. */
  readonly addresses: readonly string[];
  stop(): Promise<void>;
}

interface PickerPorts {
  readonly extProcPort: number;
  readonly metricsPort: number;
}

/**
 * Starts two pickers for the same model servers, with different flags of `serve`, each behind a
 * real Envoy in full duplex.
 */
export async function startPair(
  options: BedOptions,
  flags: { readonly without: readonly string[]; readonly with: readonly string[] },
  tools: Tools,
): Promise<Pair> {
  return startTogether(async (keep) => {
    const addresses = addressesOf(keep(await startUpstream(options, tools)));
    const begin = async (more: readonly string[]): Promise<Side & PickerPorts> => {
      const picker = keep(await startPicker({ ...options, flags: more }, addresses, tools));
      const said = picker.said as PickerPorts;
      return { ...said, ...(await behindEnvoy(picker, said.extProcPort, tools, keep)) };
    };
    const without = await begin(flags.without);
    const having = await begin(flags.with);
    return { without, with: having, metricsPort: having.metricsPort, addresses };
  });
}
