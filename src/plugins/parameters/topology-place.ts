import { z } from 'zod';
import type { TopologyPlace } from '../../framework/topology.ts';

/** The place of the picker itself. */
export const topologyPlace: z.ZodType<TopologyPlace> = z.lazy(() =>
  z.strictObject({
    host: z.string().exactOptional(),
    rack: z.string().exactOptional(),
    block: z.string().exactOptional(),
    zone: z.string().exactOptional(),
    region: z.string().exactOptional(),
  }),
);
