import { join } from 'node:path';
import { DEFAULT_EJECTION } from '../../src/picker/ejection/ejection-plan.ts';
import type { Fault } from '../../stub-server/faults/fault.ts';
import { setKnownEndpoints } from '../support/known-endpoints.ts';
import {
  addressesOf,
  type DrillPicker,
  type DrillReport,
  errorsOf,
  failed,
  type Load,
  PER_SECOND,
  type Sent,
  sleep,
  startGateway,
  startLoad,
  startPicker,
  startServers,
} from './support.ts';

const CONFIG = join(import.meta.dirname, '../../deploy/examples/fallbacks.yaml');
const SERVERS = 8;
/** Half a second: requests are under way at all servers. */
const TOKENS = 60;
const BEFORE_MS = 8000;
const FAULT_MS = 15_000;
const AFTER_MS = 15_000;
/** A client of these drills gives up after this. */
const PATIENCE_MS = 5000;
/** What is asked of a pool of eight of which one fails. */
const EJECTED_MS = 2000;
const BACK_MS = 10_000;
const FAILED_SHARE = 0.001;
/** Before so many have failed no server is ejected: with few requests they are more than the share. */
const FAILED_COUNT = DEFAULT_EJECTION.consecutiveFailures;

interface FaultDrill {
  /** How many servers fail: those that have answered most until then. */
  readonly count: number;
  /** Begins the fault, and resolves when it shall end. */
  readonly during: (set: FaultSwitch) => Promise<void>;
  /** Where servers fail now and then, none is back for good. */
  readonly returns?: boolean;
  /** Envoy repeats no request that has an answer: each trial that fails costs one. */
  readonly paysForTrials?: boolean;
}

export interface FaultSwitch {
  begin(fault: Partial<Fault> & { readonly kind: Fault['kind'] }): Promise<void>;
  end(): Promise<void>;
}

/** A fault of this kind, for as long as a drill takes. */
export const lasting =
  (fault: Parameters<FaultSwitch['begin']>[0]) =>
  async (set: FaultSwitch): Promise<void> => {
    await set.begin(fault);
    await sleep(FAULT_MS);
  };

/** Some of eight servers fail under load and recover. Envoy has fallbacks, as shipped. */
export async function faultDrill(report: DrillReport, drill: FaultDrill): Promise<void> {
  const servers = await startServers(SERVERS, 1);
  const addresses = addressesOf(servers);
  const picker = await startPicker(['--endpoints', addresses, '--config', CONFIG]);
  const gateway = await startGateway({
    wiring: 'envoy-fallbacks',
    pickers: [picker.extProcPort],
    edit: (document) => setKnownEndpoints(document, addresses.split(',')),
  });
  const load = startLoad({
    url: gateway.url,
    perSecond: PER_SECOND,
    patienceMs: PATIENCE_MS,
    tokens: TOKENS,
  });
  try {
    await sleep(BEFORE_MS);
    const used = mostUsed(load.sent, drill.count);
    report.note(used.map(([address, answers]) => `${address}: ${answers} answers`).join(', '));
    const failing = used.map(([address]) => address);
    const faultAt = performance.now();
    const set = switchOf(failing);
    await drill.during(set);
    await set.end();
    const recoveredAt = performance.now();
    await sleep(AFTER_MS);
    await load.stop();
    const counts = await ejections(picker);
    const trials = drill.paysForTrials === true ? (counts.get('trial-failed') ?? 0) : 0;
    rows(report, load, { drill, failing, faultAt, recoveredAt, trials });
    const listed = [...counts].map(([reason, count]) => `${count} × ${reason}`).join(', ');
    report.note(`ejections: ${listed || 'none'}`);
  } finally {
    picker.process.kill('SIGKILL');
    await gateway.stop();
    await servers.stop();
  }
}

/** Why endpoints were ejected, and how often. */
async function ejections(picker: DrillPicker): Promise<ReadonlyMap<string, number>> {
  const page = await picker.get('/metrics');
  const counts = page.matchAll(/^pointsman_ejections_total\{.*?reason="(.*?)".*?\} (\d+)/gm);
  const found = [...counts].map(([, reason = '', count]) => [reason, Number(count)] as const);
  return new Map(found.filter(([, count]) => count > 0));
}

interface Measured {
  readonly drill: FaultDrill;
  readonly failing: readonly string[];
  readonly faultAt: number;
  readonly recoveredAt: number;
  /** Failed ones that may be left out. */
  readonly trials: number;
}

function rows(
  { row, note }: DrillReport,
  { sent }: Load,
  { drill, failing, faultAt, recoveredAt, trials }: Measured,
): void {
  const before = failed(sent).filter(({ startedAt }) => startedAt < faultAt);
  const later = failed(sent).filter(({ startedAt }) => startedAt >= faultAt);
  const total = sent.filter(({ startedAt }) => startedAt >= faultAt).length;
  const count = Math.max(0, later.length - trials);
  const share = count / Math.max(1, total);
  const beyond = trials > 0 ? `, beyond ${trials} trials` : '';
  row(
    `failed of ${total} sent after the fault began${beyond}`,
    `${count} (${(100 * share).toFixed(2)} %)`,
    `at most ${100 * FAILED_SHARE} %, or ${FAILED_COUNT}`,
    share <= FAILED_SHARE || count <= FAILED_COUNT,
  );
  const times = later.map(({ startedAt }) => startedAt).sort((a, b) => a - b);
  const last = Math.max(faultAt, ...times.slice(0, times.length - trials)) - faultAt;
  row(
    `last request that failed, sent after the fault began${beyond}`,
    `${last.toFixed(0)} ms`,
    `within ${EJECTED_MS} ms`,
    last <= EJECTED_MS,
  );
  if (drill.returns !== false) {
    const back = backMs(sent, failing, recoveredAt);
    row(
      'all of them answer again',
      `${back.toFixed(0)} ms`,
      `within ${BACK_MS} ms`,
      back <= BACK_MS,
    );
  }
  note(`${before.length} of those under way when the fault began failed`);
  if (later.length > 0) note(errorsOf(later));
}

/** How long after their recovery all of these had answered a request; infinite if not all have. */
function backMs(sent: readonly Sent[], addresses: readonly string[], from: number): number {
  const firsts = addresses.map((address) =>
    Math.min(
      ...sent
        .filter(({ startedAt, servedBy, error }) =>
          startedAt >= from && servedBy === address && error === undefined ? true : false,
        )
        .map(({ endedAt }) => endedAt),
    ),
  );
  return Math.max(...firsts) - from;
}

function mostUsed(
  sent: readonly Sent[],
  count: number,
): readonly (readonly [address: string, answers: number])[] {
  const answers = new Map<string, number>();
  for (const { servedBy } of sent) {
    // A request that nobody has answered, as before all has started on a busy machine.
    if (servedBy === undefined || servedBy === '') continue;
    answers.set(servedBy, (answers.get(servedBy) ?? 0) + 1);
  }
  return [...answers].sort((a, b) => b[1] - a[1]).slice(0, count);
}

function switchOf(addresses: readonly string[]): FaultSwitch {
  const send = async (init: RequestInit): Promise<void> => {
    await Promise.all(
      addresses.map(async (address) => {
        const answer = await fetch(`http://${address}/stub/faults`, init);
        if (!answer.ok) throw new Error(`the fault was refused: ${await answer.text()}`);
      }),
    );
  };
  return {
    begin: (fault) => send({ method: 'POST', body: JSON.stringify(fault) }),
    end: () => send({ method: 'DELETE' }),
  };
}
