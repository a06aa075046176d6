import { z } from 'zod';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';

const HEADER = 'x-conformance-test-served-endpoint';
const NOT_SAID = 'fail: missing destination endpoint served metadata';

/** For conformance tests: a header of the response names the endpoint that the proxy reports. */
export const servedVerifier: DataSourceDefinition = defineDataSource({
  type: 'destination-endpoint-served-verifier',
  config: z.strictObject({}),
  start: () => ({
    responseHeaders: (_served, _result, reported) => [[HEADER, reported ?? NOT_SAID]],
    stop: () => undefined,
  }),
});
