import {
  type BedOptions,
  behindEnvoy,
  type Side,
  startPicker,
  startUpstream,
  type Tools,
} from '../load/bed.ts';

/** One picker without something and one with it. */
export interface Pair {
  readonly without: Side;
  readonly with: Side;
  /** Of the one with it. */
  readonly metricsPort: number;
  stop(): Promise<void>;
}

interface PickerPorts {
  readonly extProcPort: number;
  readonly metricsPort: number;
}

/** Two pickers before the same model servers, each behind a real Envoy in full duplex, that differ in flags of `serve`. */
export async function startPair(
  options: BedOptions,
  flags: { readonly without: readonly string[]; readonly with: readonly string[] },
  tools: Tools,
): Promise<Pair> {
  const started: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    for (const each of started.toReversed()) await each.stop();
  };
  const keep = <T extends { stop(): Promise<void> }>(each: T): T => {
    started.push(each);
    return each;
  };
  try {
    const upstream = keep(await startUpstream(options, tools));
    const { ports } = upstream.said as { readonly ports: readonly number[] };
    const addresses = ports.map((port) => `127.0.0.1:${port}`);
    const begin = async (more: readonly string[]): Promise<Side & PickerPorts> => {
      const picker = keep(await startPicker({ ...options, flags: more }, addresses, tools));
      const said = picker.said as PickerPorts;
      return { ...said, ...(await behindEnvoy(picker, said.extProcPort, tools, keep)) };
    };
    const without = await begin(flags.without);
    const having = await begin(flags.with);
    return { without, with: having, metricsPort: having.metricsPort, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
