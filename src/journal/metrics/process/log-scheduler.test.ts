import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { ReplacementReport, SchedulerState } from '../../../framework/replacement.ts';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { logScheduler } from './log-scheduler.ts';
import { registerSchedulerMetrics } from './scheduler-metrics.ts';

function setUp(challenger?: string) {
  const clock = new SimulatedClock();
  const changes = new Map<SchedulerState, number>();
  let report: ReplacementReport = {
    decided: 0,
    declined: new Map(),
    name: 'mine',
    changes,
    ...(challenger !== undefined && { challenger }),
  };
  const lines: unknown[] = [];
  const note = (level: string) => (fields: object, line: string) =>
    void lines.push({ level, ...fields, line });
  const log = { info: note('info'), warn: note('warn') };
  const { stop } = logScheduler(() => report, { clock, log });
  const become = (state: SchedulerState, cause: string): void => {
    changes.set(state, (changes.get(state) ?? 0) + 1);
    const lastError = state === 'connected' ? report.lastError : cause;
    report = { ...report, state, cause, lastError, since: clock.wallTime() };
  };
  const later = (): void => {
    clock.step(clock.now() + 1000);
  };
  return { lines, become, later, stop, report: () => report };
}

it('[V78] logs each change of a scheduler once, with its cause', () => {
  const { lines, become, later } = setUp();
  become('connecting', 'it has just been started');
  later();
  expect(lines).toEqual([]);
  become('gone', 'connection refused');
  for (let turn = 0; turn < 3; turn++) later();
  become('connected', 'it has connected');
  later();
  become('slow', 'late');
  become('connected', 'in time');
  become('slow', 'it did not answer within 5 ms');
  later();
  expect(lines).toMatchObject([
    { level: 'warn', state: 'gone', cause: 'connection refused', scheduler: 'mine' },
    { level: 'info', state: 'connected', changes: 1, line: 'the scheduler decides' },
    {
      level: 'warn',
      state: 'slow',
      cause: 'it did not answer within 5 ms',
      changes: 3,
      line: 'the scheduler is not asked, because its answers are late or wrong: the profiles decide',
    },
  ]);
});

it('[G214] warns of a scheduler that was gone and came back between two lines, and says why', () => {
  const { lines, become, later } = setUp();
  become('gone', 'connection refused');
  become('connected', 'it has connected');
  later();
  for (let turn = 0; turn < 2; turn++) {
    become('gone', 'it sent no message');
    become('connected', 'it has connected');
    later();
  }
  later();
  const again = {
    level: 'warn',
    state: 'connected',
    changes: 2,
    lastError: 'it sent no message',
    line: 'the scheduler was not asked for a moment',
  };
  expect(lines).toMatchObject([{ level: 'info', line: 'the scheduler decides' }, again, again]);
});

it('[V78] shows the state of a scheduler on the metrics page', async () => {
  const { become, report } = setUp();
  become('gone', 'connection refused');
  const registry = new Registry();
  registerSchedulerMetrics(registry, { inCharge: report });
  const page = await registry.metrics();
  expect(page).toContain('pointsman_scheduler_state{state="gone"} 1\n');
  expect(page).toContain('pointsman_scheduler_state{state="connected"} 0\n');
  expect(page).toContain('pointsman_scheduler_changes_total{state="gone"} 1\n');
});

it('[G210] names the promoted shadow whose scheduler it is, on the page and in the log', async () => {
  const { lines, become, later, report } = setUp('mine.yaml');
  become('gone', 'connection refused');
  later();
  expect(lines).toMatchObject([
    {
      shadow: 'mine.yaml',
      state: 'gone',
      line: 'the scheduler of a promoted shadow is gone: the profiles decide',
    },
  ]);
  const registry = new Registry();
  let promoted = false;
  registerSchedulerMetrics(registry, {
    inCharge: () => undefined,
    promoted: () => (promoted ? { ...report(), challenger: 'mine.yaml' } : undefined),
  });
  expect(await registry.metrics()).not.toContain('\npointsman_scheduler');
  promoted = true;
  const page = await registry.metrics();
  expect(page).toContain('pointsman_scheduler_state{state="gone",shadow="mine.yaml"} 1\n');
  expect(page).toContain('pointsman_scheduler_decided_total{shadow="mine.yaml"} 0\n');
});
