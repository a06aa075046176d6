import { describe, expect, it } from 'vitest';
import { checkFailover } from './check-failover.ts';
import type { PickedRoute } from './envoy-setup.ts';
import type { Cluster } from './envoy-types.ts';
import type { Finding } from './finding.ts';

const idsOf = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ severity, id }) => `${severity} ${id}`);

describe('[V231] what the doctor finds about a picker that fails', () => {
  const retry = (choices?: string): PickedRoute['filter'] => ({
    grpc_service: {
      envoy_grpc: { cluster_name: 'pickers' },
      retry_policy: choices === undefined ? {} : { host_selection_retry_max_attempts: choices },
    },
  });
  const found = (
    filter: PickedRoute['filter'],
    version: string | undefined,
    detection?: Cluster['outlier_detection'],
  ): readonly string[] =>
    idsOf(
      checkFailover(
        {
          listeners: 1,
          otherFilters: [],
          refused: [],
          routes: [
            {
              listener: {},
              manager: {},
              filterName: 'f',
              filter,
              route: {},
              retryPolicy: undefined,
              name: 'r',
            },
          ],
          clusters: new Map([
            ['pickers', { name: 'pickers', ...(detection && { outlier_detection: detection }) }],
          ]),
        },
        version,
      ),
    );
  const leavesOut = { split_external_local_origin_errors: true };

  it('names an Envoy that repeats streams without the rest of their bodies', () => {
    for (const version of ['1.36.4', '1.9.0', '0.99.0']) {
      expect(found(retry('30'), version, leavesOut)).toEqual(['error picker-retry-cuts-bodies']);
    }
    for (const version of ['1.37.0', '1.40.0', '2.0.0', undefined]) {
      expect(found(retry('30'), version, leavesOut)).toEqual([]);
    }
  });

  it('names retries that meet the same picker, and clusters that keep a dead one', () => {
    expect(found(retry(), '1.40.0', leavesOut)).toEqual(['warning picker-retry-same-host']);
    expect(found(retry('30'), '1.40.0')).toEqual(['warning no-outlier-detection']);
    const off = { ...leavesOut, enforcing_consecutive_local_origin_failure: 0 };
    expect(found(retry('30'), '1.40.0', off)).toEqual(['warning no-outlier-detection']);
  });

  it('says nothing of an observer, which loses no request', () => {
    expect(found({ ...retry(), observability_mode: true }, '1.36.4')).toEqual([]);
  });
});
