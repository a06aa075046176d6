import type { Band } from './band.ts';
import type { Gate } from './saturation/gate.ts';

/** Where a waiting request stands, and why its band is open or closed. */
export interface FlowPlace {
  readonly priority: number;
  /** Requests that wait with a higher priority. */
  readonly higher: number;
  /** Others that wait with its priority, and those of them that have its fairness id. */
  readonly samePriority: number;
  readonly sameFairnessId: number;
  /** How many endpoints the pool has. */
  readonly endpoints: number;
  /** The saturation of the pool, as the gate measured it last. */
  readonly saturation: number;
  /** Its band is closed from this saturation on; always where it is 0. */
  readonly ceiling: number;
  /** The priority of a band above it that is closed and closes all below; undefined for none. */
  readonly closedBy: number | undefined;
}

interface PlaceParts {
  readonly bands: readonly Band[];
  readonly gate: Pick<Gate, 'saturation' | 'ceilings' | 'open'>;
  readonly endpoints: number;
}

/** The place of a request that waits in this band, in a flow of so many requests with it. */
export function placeIn(
  band: Band,
  flowSize: number,
  { bands, gate, endpoints }: PlaceParts,
): FlowPlace {
  const rank = bands.indexOf(band);
  const closing = gate.open < rank ? bands[gate.open] : undefined;
  return {
    priority: band.priority,
    higher: bands.slice(0, rank).reduce((sum, { size }) => sum + size, 0),
    samePriority: band.size - 1,
    sameFairnessId: flowSize - 1,
    endpoints,
    saturation: gate.saturation.effective,
    ceiling: gate.ceilings[rank] ?? 0,
    closedBy: closing?.priority,
  };
}
