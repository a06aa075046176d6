import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  addressesOf,
  drill,
  PER_SECOND,
  sleep,
  startGateway,
  startLoad,
  startPicker,
  startServers,
} from './support.ts';

const LOAD_MS = 20_000;
/**
 * No file may be longer than 16 blocks of 512 bytes; a write beyond that fails, as on a full disk.
 */
const NO_ROOM = 'trap "" XFSZ; ulimit -f 16';

await drill('the disk of the capture is full', async ({ row, noneFailed, note }) => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-drill-'));
  const servers = await startServers(8);
  const flags = ['--endpoints', addressesOf(servers), '--capture', folder];
  const picker = await startPicker(flags, NO_ROOM);
  const gateway = await startGateway({ pickers: [picker.extProcPort] });
  const load = startLoad({ url: gateway.url, perSecond: PER_SECOND });
  await sleep(LOAD_MS);
  await load.stop();
  noneFailed(load.sent);
  const lines = picker.log.filter((line) => /captur/.test(line));
  row('lines of the log about it', String(lines.length), 'at least 1', lines.length > 0);
  note(lines[0] ?? '');
  const metrics = (await picker.get('/metrics')).split('\n');
  const failures = metrics.filter((line) => /^pointsman_capture\S* [1-9]/.test(line));
  row('metrics that say so', failures.join(', '), 'one that is above 0', failures.length > 0);
  picker.process.kill('SIGKILL');
  await gateway.stop();
  await servers.stop();
  rmSync(folder, { recursive: true });
});
