import { type Document, isSeq } from 'yaml';
import { CONNECTION_MANAGER, renderEnvoyConfig } from '../../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../../src/lab/envoy/run-envoy.ts';
import { behindEnvoy, type Side, startPicker, type Tools } from '../../load/bed.ts';
import { type Keep, startTogether } from '../../load/child.ts';
import { startReferenceProgram } from '../../support/reference-program.ts';
import type { Site } from './site.ts';

/** Our configurations that are measured with the Go picker: its default one, and our own. */
export const OUR_SIDES = ['reference-default', 'default'] as const;
export type OurSide = (typeof OUR_SIDES)[number];

/** `none` is an Envoy without a picker, which always asks the same model server. */
export type SideName = 'go' | OurSide | 'none';

export interface GoTools extends Omit<Tools, 'other'> {
  /** The Go picker's program. */
  readonly epp: string;
}

export type Sides = ReadonlyMap<SideName, Side>;

/** Starts all pickers before the same model servers, each behind an Envoy of its own. */
export function startSides(
  site: Site,
  endpoints: number,
  tools: GoTools,
): Promise<{ readonly sides: Sides; stop(): Promise<void> }> {
  return startTogether(async (keep) => {
    const sides = new Map<SideName, Side>();
    const addresses = site.addresses.slice(0, endpoints);
    sides.set('go', await startGo(site, endpoints, { ...tools, keep }));
    for (const config of OUR_SIDES) {
      // The last level counts: the Go picker has its usual one, too.
      const flags = [...(tools.oursFlags ?? []), '--log-level', 'info'];
      const picker = keep(await startPicker({ config, flags, main: tools.main }, addresses, tools));
      const { extProcPort } = picker.said as { readonly extProcPort: number };
      sides.set(config, await behindEnvoy(picker, extProcPort, tools, keep));
    }
    sides.set('none', await startWithoutPicker(addresses[0] ?? '', { ...tools, keep }));
    return { sides };
  });
}

async function startGo(
  site: Site,
  endpoints: number,
  { keep, ...tools }: GoTools & { readonly keep: Keep },
): Promise<Side> {
  const found = await site.poolOf(endpoints);
  const log = (text: string): void => tools.log(`go: ${text}`);
  const options = { found, servers: endpoints, log };
  const program = keep(await startReferenceProgram(tools.epp, options));
  const child = {
    ...program,
    said: {},
    pause: () => void process.kill(program.pid, 'SIGSTOP'),
    resume: () => void process.kill(program.pid, 'SIGCONT'),
    linesWith: () => 0,
  };
  return behindEnvoy(child, program.extProcPort, tools, keep);
}

async function startWithoutPicker(
  destination: string,
  { envoyPath, log, keep }: GoTools & { readonly keep: Keep },
): Promise<Side> {
  const configYaml = renderEnvoyConfig({
    wiring: 'envoy',
    listenerPort: 0,
    extProcAddress: '127.0.0.1:1',
    edit: (config) => withoutPicker(config, destination),
  });
  const options = { binary: envoyPath, configYaml, log: (line: string) => log(`envoy: ${line}`) };
  const envoy = keep(await startEnvoy(options));
  return {
    pid: envoy.pid,
    port: envoy.listenerPort,
    pause: () => undefined,
    resume: () => undefined,
    collections: () => 0,
    sampleAges: () => Promise.resolve([]),
  };
}

/** Takes the picker out of the shipped Envoy configuration: every request goes to `destination`. */
export function withoutPicker(config: Document, destination: string): void {
  const filters = config.getIn([...CONNECTION_MANAGER, 'http_filters']);
  const clusters = config.getIn(['static_resources', 'clusters']);
  const name = config.getIn(['static_resources', 'clusters', 1, 'name']);
  if (!isSeq(filters) || !isSeq(clusters) || name !== 'ext_proc') {
    throw new Error('the shipped Envoy configuration has no filter and no second cluster ext_proc');
  }
  filters.delete(0);
  clusters.delete(1);
  config.deleteIn([...CONNECTION_MANAGER, 'access_log']);
  const mutations = [
    {
      append: {
        header: { key: 'x-gateway-destination-endpoint', value: destination },
        append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
      },
    },
  ];
  const early = ['early_header_mutation_extensions', 0, 'typed_config', 'mutations'];
  config.setIn([...CONNECTION_MANAGER, ...early], config.createNode(mutations));
}
