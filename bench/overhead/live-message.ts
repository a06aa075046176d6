import { planFrom } from '../../src/catalogue/plan.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { DecisionRecorder } from '../../src/journal/explain/decision-recorder.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { LiveCounts } from '../../src/serve/live/live-counts.ts';
import type { LiveHealth } from '../../src/serve/live/live-message.ts';
import { LiveSource } from '../../src/serve/live/live-source.ts';
import { requestOf } from './decisions.ts';

const MESSAGES = 200;
const WARM_UP = 50;
const DECISIONS_BETWEEN = 100;

/**
 * CPU that the messages of one second take, as a share of a core: the mean of many, with decisions
 * between them. A picker whose core is busy spends this share of every request's CPU on the page.
 */
export function messageShare(endpoints: number): {
  readonly share: number;
  readonly bytes: number;
} {
  const clock = new SimulatedClock();
  const counts = new LiveCounts(clock);
  const recorder = new DecisionRecorder({ clock });
  const network = { get: () => new Promise<never>(() => undefined) };
  const picker = new EndpointPicker({
    plan: planFrom('default'),
    runtime: { clock, random: seededRandom(1), network },
    subscribers: [recorder, counts],
  });
  const about = { pool: 'bench', policy: 'default', documents: [] };
  const viewers = (): number => 1;
  const health = (): LiveHealth => ({ state: 'ready', reasons: [] });
  const source = new LiveSource({ picker, counts, recorder, clock, viewers, about, health });
  for (let at = 0; at < endpoints; at++) {
    picker.pool.upsert({
      id: `pod-${at}` as EndpointId,
      address: `10.0.0.1:${at + 1}`,
      labels: new Map(),
    });
  }
  source.begin();
  const chance = seededRandom(2);
  const costs: number[] = [];
  let bytes = 0;
  for (let n = 0; n < WARM_UP + MESSAGES; n++) {
    for (let each = 0; each < DECISIONS_BETWEEN; each++) {
      picker.route(requestOf(n * DECISIONS_BETWEEN + each, chance.next())).done('completed');
    }
    clock.advanceTo(1000 * (n + 1));
    const before = process.cpuUsage();
    bytes = Buffer.byteLength(JSON.stringify(source.next()));
    const { user, system } = process.cpuUsage(before);
    if (n >= WARM_UP) costs.push((user + system) / 1e6);
  }
  picker.stop();
  return { share: costs.reduce((sum, cost) => sum + cost, 0) / costs.length, bytes };
}
