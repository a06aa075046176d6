import { z } from 'zod';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';
import { RESERVE_ENDPOINT } from '../../framework/preference.ts';

/** Lets requests ask which endpoint they would go to, as a coordinator in front of pickers does. */
export const reserveEndpoint: DataSourceDefinition = defineDataSource({
  type: RESERVE_ENDPOINT,
  config: z.strictObject({}),
  start: () => ({ answersEndpointOnly: true, stop: () => undefined }),
});
