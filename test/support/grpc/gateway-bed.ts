import type { Clock } from '../../../src/framework/runtime.ts';
import type { GatewayBounds } from '../../../src/gateway/gateway-bounds.ts';
import type { Strain } from '../../../src/gateway/overload.ts';
import type { Gateway } from '../../../src/gateway/start-gateway.ts';
import { gatewayBefore } from '../servers/gateway-before.ts';
import { type ScriptedServer, startScriptedServer } from '../sidecar/scripted-server.ts';
import { type ScriptedPicker, startScriptedPicker } from './scripted-picker.ts';

/** An embedded gateway before one endpoint and a picker that picks it. */
export interface GatewayBed {
  readonly endpoint: ScriptedServer;
  readonly picker: ScriptedPicker;
  readonly gateway: Gateway;
  stop(): Promise<void>;
}

/** Without `strain` the gateway measures the load of this process. */
export async function startGatewayBed(
  clock: Clock,
  bounds: Partial<GatewayBounds> = {},
  strain?: Strain,
): Promise<GatewayBed> {
  const endpoint = await startScriptedServer();
  const picker = await startScriptedPicker(endpoint.address);
  const gateway = await gatewayBefore(picker.port, { clock, bounds, ...(strain && { strain }) });
  const stop = async (): Promise<void> => {
    await gateway.stop();
    picker.stop();
    await endpoint.stop();
  };
  return { endpoint, picker, gateway, stop };
}
