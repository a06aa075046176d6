import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

/** Service names that gateways ask for: none, ext_proc, and those of the reference's probes. */
const SERVICES = [
  '',
  'envoy.service.ext_proc.v3.ExternalProcessor',
  'inference-extension',
  'readiness',
] as const;
const LIVENESS = 'liveness';

/** gRPC health for all servers of the picker: live from the start, serving after `setServing`. */
export class Health {
  readonly #implementation = new HealthImplementation({ [LIVENESS]: 'SERVING' });

  constructor() {
    this.setServing(false);
  }

  addTo(server: Server): void {
    this.#implementation.addToServer(server);
  }

  setServing(serving: boolean): void {
    for (const service of SERVICES) {
      this.#implementation.setStatus(service, serving ? 'SERVING' : 'NOT_SERVING');
    }
  }
}
