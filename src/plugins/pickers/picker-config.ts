import { z } from 'zod';

export interface PickerConfig {
  /** How many endpoints to name: the first serves, the others are the proxy's fallbacks. */
  readonly maxNumOfEndpoints: number;
}

/** The parameters all pickers share. */
export const pickerConfig: z.ZodType<PickerConfig> = z.strictObject({
  maxNumOfEndpoints: z.int().positive().default(1),
});
