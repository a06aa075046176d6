import { createPicker, SimulatedClock } from '../src/index.ts';

/**
 * CPU of one pick of the default policy, with its reservation and release, by the size of the pool:
 * `node bench/micro-pool-size.ts`. Without gRPC and bodies. A fifth of the prompts begins alike.
 */

const SIZES = [8, 64, 256, 1000, 4000, 10_000] as const;
const WARM = 300;
const PICKS = 1000;
const ROUNDS = 3;
const PROMPT_BLOCKS = 32;

function msPerPick(endpoints: number): number {
  const clock = new SimulatedClock();
  const picker = createPicker({ seed: 1, clock });
  const sample = { waitingQueueSize: 0, runningRequests: 4, kvCacheUsage: 0.4 };
  for (let index = 0; index < endpoints; index += 1) {
    const id = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}:8000`;
    picker.addEndpoint({ id });
    picker.setMetrics(id, sample);
  }
  let next = 1;
  const pickOnce = (): void => {
    const own = (next += PROMPT_BLOCKS);
    const shared = next % 5 === 0;
    const blockIds = Array.from({ length: PROMPT_BLOCKS }, (_, at) => (shared ? at + 1 : own + at));
    const pick = picker.route({ model: 'm', promptTokens: 64 * PROMPT_BLOCKS, blockIds });
    clock.advanceTo(clock.now() + 1);
    pick.firstToken();
    pick.done('completed');
  };
  for (let count = 0; count < WARM; count += 1) pickOnce();
  const before = process.cpuUsage();
  for (let count = 0; count < PICKS; count += 1) pickOnce();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / PICKS;
}

for (const endpoints of SIZES) {
  const rounds = Array.from({ length: ROUNDS }, () => msPerPick(endpoints)).toSorted(
    (a, b) => a - b,
  );
  const [least = 0] = rounds;
  const [middle = 0] = rounds.slice(ROUNDS / 2);
  const most = rounds.at(-1) ?? 0;
  process.stdout.write(
    `${endpoints} endpoints: ${middle.toFixed(3)} ms a pick (${least.toFixed(3)} to ${most.toFixed(3)})\n`,
  );
}
