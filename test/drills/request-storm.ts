import { CLIENTS, gatewayStorm } from '../support/storms/gateway-storm.ts';
import { type DrillReport, drill } from './support.ts';

const REQUESTS = Number(process.env['DRILL_REQUESTS'] ?? 100_000);
const SEED = Number(process.env['DRILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Faults of clients, model servers, gateways, plugins and operators at the same time. */
const about = `${REQUESTS} requests with faults of every kind, seed ${SEED}`;
await drill(about, storm, `${CLIENTS} clients`);

async function storm(report: DrillReport): Promise<void> {
  const { sent, answered, faults, drift, uncaught, statusAfter, rssMb } = await gatewayStorm(
    SEED,
    REQUESTS,
  );
  const kinds = [...faults].sort(([a], [b]) => a.localeCompare(b));
  for (const [fault, count] of kinds) report.note(`${count} × ${fault}`);
  report.note(`${answered} of ${sent} answered with 200; ${rssMb} MB in the end`);
  const left = drift.join(', ') || 'nothing';
  report.row('left of load, streams and waiting', left, 'nothing', drift.length === 0);
  const lines = uncaught.length;
  report.row('errors that nothing caught', String(lines), '0', lines === 0);
  for (const line of uncaught.slice(0, 3)) report.note(line.slice(0, 300));
  report.row('a request after it', String(statusAfter), '200', statusAfter === 200);
}
