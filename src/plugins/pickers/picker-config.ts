import { z } from 'zod';

interface PickerConfig {
  /** The number of endpoints to pick: the first serves, the others are the proxy's fallbacks. */
  readonly maxNumOfEndpoints: number;
}

/** The parameters that all pickers have. */
export const pickerConfig: z.ZodType<PickerConfig> = z.lazy(() =>
  z.strictObject({
    // As the reference reads it, a number that is none means the default.
    maxNumOfEndpoints: z
      .int()
      .default(1)
      .transform((count) => (count > 0 ? count : 1)),
  }),
);
