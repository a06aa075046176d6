import { nodeClock } from '../../../src/runtime/clock/node-clock.ts';
import { privateServers } from '../../../src/sidecar/options/allowed-servers.ts';
import {
  SIDECAR_DEFAULTS,
  type SidecarOptions,
} from '../../../src/sidecar/options/sidecar-options.ts';

/** Options of a sidecar on the loopback that may use any server there. */
export function sidecarOptions(
  overrides: Partial<SidecarOptions> & Pick<SidecarOptions, 'engine'>,
): SidecarOptions {
  return {
    ...SIDECAR_DEFAULTS,
    host: '127.0.0.1',
    port: 0,
    prefillers: privateServers(),
    encoders: privateServers(),
    clock: nodeClock(),
    log: () => undefined,
    ...overrides,
  };
}
