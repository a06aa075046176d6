import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { makeRuntime } from '../../../../test/makers.ts';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { EndpointPool } from '../../../picker/pool/endpoint-pool.ts';
import { roleMinimumFilter } from '../../../plugins/filters/role-minimum.ts';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { logRoleMinimums, registerRoleMinimums } from './role-minimums.ts';

function setUp(minReady: object) {
  const clock = new SimulatedClock();
  const pool = new EndpointPool();
  const filter = roleMinimumFilter.create(
    roleMinimumFilter.config.parse({ minReady }),
    makeRuntime(),
  );
  const lines: string[] = [];
  const log = {
    warn: (_fields: object, line: string) => void lines.push(`warn ${line}`),
    info: (_fields: object, line: string) => void lines.push(`info ${line}`),
  };
  const registry = new Registry();
  const observers = () => [{}, filter];
  registerRoleMinimums(registry, { observers });
  const logger = logRoleMinimums({ observers, clock }, log as never);
  for (const each of [filter, logger]) pool.observeEndpoints(each);
  const add = (name: string, role: string): void => {
    const labels = new Map([['llm-d.ai/role', role]]);
    pool.upsert({ id: name as EndpointId, address: `${name}:1`, labels });
  };
  const settle = (): Promise<void> => clock.run(clock.now() + 1000);
  return {
    pool,
    registry,
    lines,
    add,
    settle,
    remove: (id: string) => pool.remove(id as EndpointId),
  };
}

describe('the minimum of a role', () => {
  it('is logged once when it is not met, however many changes there are, and once when it is again', async () => {
    const { lines, add, remove, settle } = setUp({ prefill: 2 });
    for (let at = 0; at < 50; at++) add(`d${at}`, 'decode');
    add('p0', 'prefill');
    await settle();
    for (let at = 0; at < 50; at++) remove(`d${at}`);
    await settle();
    expect(lines).toEqual([expect.stringContaining('warn too few endpoints with role prefill')]);
    add('p1', 'prefill');
    await settle();
    remove('p1');
    add('p1', 'both');
    await settle();
    expect(lines.slice(1)).toEqual(['info enough endpoints with role prefill again']);
  });

  it('is on the metrics page, with what there is', async () => {
    const { registry, add } = setUp({ prefill: 2, decode: 1 });
    add('p0', 'prefill');
    add('d0', 'decode');
    const page = await registry.metrics();
    expect(page).toContain('pointsman_role_ready_endpoints{role="prefill"} 1\n');
    expect(page).toContain('pointsman_role_min_ready{role="prefill"} 2\n');
    expect(page).toContain('pointsman_role_below_minimum{role="prefill"} 1\n');
    expect(page).toContain('pointsman_role_below_minimum{role="decode"} 0\n');
  });
});
