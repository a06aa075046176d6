import { addressesOf, startServer, startUpstream, type Tools } from '../load/bed.ts';
import { startTogether } from '../load/child.ts';
import type { Round } from './measure-side.ts';
import { processCpuMs, residentMb } from './proc.ts';
import type { CostRow } from './row.ts';

/** One start varies by tens of milliseconds, and takes less than a second. */
const STARTS_PER_ROUND = 3;

/**
 * Starts processes in turn and ends each as soon as it serves: `startMs` is wall time, and `cost`
 * the CPU ms, until it says that it serves, and `residentMb` its memory then.
 */
export async function measureStart(
  row: CostRow,
  rounds: number,
  tools: Tools,
): Promise<readonly (readonly Round[])[]> {
  const bed = await startTogether(async (keep) => ({
    addresses: addressesOf(keep(await startUpstream(row, tools))),
  }));
  try {
    const { other } = tools;
    const sides = other === undefined ? [undefined] : [undefined, other];
    const measured = sides.map((side) => ({ side, starts: [] as Round[] }));
    for (let index = 0; index < rounds * STARTS_PER_ROUND; index++) {
      for (const { side, starts } of measured) {
        starts.push(await measureOne(() => startServer(row, bed.addresses, tools, side)));
      }
    }
    return measured.map(({ starts }) => starts);
  } finally {
    await bed.stop();
  }
}

async function measureOne(start: () => ReturnType<typeof startServer>): Promise<Round> {
  const from = performance.now();
  const server = await start();
  const startMs = performance.now() - from;
  const { pid } = server;
  const figures = { startMs, cost: processCpuMs(pid), residentMb: residentMb(pid) };
  await server.stop();
  return { figures, completed: 1, failed: 0, pieces: 0, scrapes: 0, seconds: startMs / 1000 };
}
