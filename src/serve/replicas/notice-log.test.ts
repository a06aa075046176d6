import { expect, it } from 'vitest';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import type { Log } from '../../runtime/log/log.ts';
import { noticeLog } from './notice-log.ts';

it('[V460] replicas that restart without end are a line each two seconds, after a hundred', () => {
  const clock = new SimulatedClock();
  const lines: object[] = [];
  const log = { info: (fields: object) => void lines.push(fields) };
  const notice = noticeLog(log as unknown as Log, clock);
  for (let second = 0; second < 600; second++) {
    for (let n = 0; n < 30; n++) {
      notice({ kind: 'left', peer: 'p', reason: 'restarted' });
      notice({ kind: 'joined', peer: 'p' });
    }
    clock.advanceTo(clock.now() + 1000);
  }
  expect(lines).toHaveLength(100 + 299);
  expect(lines.at(-1)).toMatchObject({ leftOut: 119 });
});
