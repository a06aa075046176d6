import { z } from 'zod';

interface PickerConfig {
  /** The number of endpoints to pick: the first serves, the others are the proxy's fallbacks. */
  readonly maxNumOfEndpoints: number;
}

/** The parameters that all pickers have. */
export const pickerConfig: z.ZodType<PickerConfig> = z.strictObject({
  maxNumOfEndpoints: z.int().positive().default(1),
});
