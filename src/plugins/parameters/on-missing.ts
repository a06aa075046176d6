import { z } from 'zod';

/** Whether a filter keeps endpoints of which it does not know what it asks for. */
export type OnMissing = 'Pass' | 'Fail';

/** An empty text is one that is not given. */
export const onMissing: z.ZodType<OnMissing> = z
  .enum(['Pass', 'Fail', ''])
  .default('Pass')
  .transform((given) => given || 'Pass');
