import { describe } from 'vitest';
import { CONNECTORS, describeConnector } from './describe-connector.ts';

/** The connectors that `disaggregation.test.ts` leaves out. */

describe('[B92] the other connectors', () => {
  for (const connector of CONNECTORS.slice(2)) describeConnector(connector);
});
