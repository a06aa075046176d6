import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { expectNoFault } from '../../test/house/faults.ts';
import { CountedClock } from '../../test/support/counted-clock.ts';
import {
  type ScriptedServer,
  startScriptedServer,
  type Visit,
} from '../../test/support/sidecar/scripted-server.ts';
import { SidecarBed } from '../../test/support/sidecar/sidecar-bed.ts';
import {
  CHAT,
  type Fault,
  isAtOnce,
  KV,
  nameOf,
  PHASES,
  type Phase,
  type Place,
  type Role,
  STREAM,
  said,
  WALKS,
  type Walk,
} from '../../test/support/sidecar/walks.ts';
import { portOf } from '../framework/values/server-address.ts';
import type { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { KV_CONNECTORS, SIDECAR_BOUNDS, SIDECAR_DEFAULTS } from './options/sidecar-options.ts';
import type { Sidecar } from './start-sidecar.ts';

let engine: ScriptedServer;
let prefiller: ScriptedServer;
let encoder: ScriptedServer;
let bootstrap: ScriptedServer;
let clock: SimulatedClock;
let counted: CountedClock;
const bed = new SidecarBed();
beforeEach(async () => {
  ({ engine, prefiller, clock } = await bed.begin());
  encoder = await startScriptedServer();
  bootstrap = await startScriptedServer();
  bed.stops.push(encoder.stop, bootstrap.stop);
  counted = new CountedClock(clock);
});
afterEach(() => bed.end());

const BOOTSTRAP_TIMEOUT_MS = 5000;
/** Between two steps of the time there is some for what they have caused. */
const PAUSE_POLLS = 20;

/** After so long a silent server is given up. */
function limitOf(place: Place | undefined): number {
  switch (place?.role) {
    case 'encoder':
      return SIDECAR_BOUNDS.encodeTimeoutMs;
    case 'prefiller':
      return SIDECAR_BOUNDS.prefillTimeoutMs;
    case 'engine':
      return place.phase === 'arrived'
        ? SIDECAR_BOUNDS.firstByteTimeoutMs
        : SIDECAR_BOUNDS.idleTimeoutMs;
    case 'bootstrap':
    case undefined:
      return BOOTSTRAP_TIMEOUT_MS;
  }
}

interface Run {
  readonly places: readonly Place[];
  readonly visits: readonly Visit[];
  /** The text of the answer; undefined where it broke off. */
  readonly text: string | undefined;
  readonly status: number | undefined;
  readonly sidecar: Sidecar;
}

/** The two halves of each server's answers. */
function answersOf(walk: Walk, role: Role, visit: number): readonly [string, string] {
  switch (role) {
    case 'encoder':
      return ['{"ec_transfer_params":', '{}}'];
    case 'bootstrap':
      return ['{"0":', '{"engine_id":"e"}}'];
    case 'prefiller':
      return ['{"kv_transfer_params":', `${JSON.stringify(KV)}}`];
    case 'engine': {
      if (walk.pieces === true) {
        const whole = said('length');
        return [whole.slice(0, 9), whole.slice(9)];
      }
      return visit === 1 ? (walk.firstAnswer ?? STREAM) : STREAM;
    }
  }
}

async function run(walk: Walk, fault?: Fault, at?: Place): Promise<Run> {
  const sidecar = await bed.started({
    mooncakeBootstrapPort: Number(portOf(bootstrap.address)),
    sglangBootstrapPort: Number(portOf(bootstrap.address)),
    ...walk.options,
    clock: counted,
  });
  const places: Place[] = [];
  const visits: Visit[] = [];
  const leaving = new AbortController();
  let over = false;
  /** The silence has begun, and time may pass. */
  let stopped = false;
  /** A server that has gone is asked again after a pause. */
  let paused = false;

  /** Where both legs are sent at once, one may end only after the other. */
  const computedBefore = async ({ role }: Place): Promise<void> => {
    if (role !== 'engine' || !isAtOnce(walk)) return;
    await eventually(
      () => sidecar.counts.prefilled,
      (count) => count === 1,
    );
  };
  /** Whether the answer goes on. */
  const reached = (place: Place, visit: Visit): boolean => {
    places.push(place);
    if (over) return false;
    if (at === undefined || nameOf(place) !== nameOf(at)) return true;
    if (fault === 'client leaves') {
      over = true;
      leaving.abort();
    } else if (fault === 'server leaves') {
      visit.response.destroy();
      paused = walk.options.prefillRetries !== undefined;
    } else void computedBefore(at).then(() => (stopped = true));
    return false;
  };
  const answer = async (role: Role, number: number, visit: Visit): Promise<void> => {
    const [first, second] = answersOf(walk, role, number);
    const place = (phase: Phase): Place => ({ role, visit: number, phase });
    if (!reached(place('arrived'), visit)) return;
    const streams = role === 'engine' && walk.pieces !== true;
    const type = streams ? 'text/event-stream' : 'application/json';
    visit.response.writeHead(200, { 'content-type': type }).flushHeaders();
    if (!reached(place('headers'), visit)) return;
    // Both legs at once: the engine has no bytes before the prefill has been done.
    if (role === 'engine' && number === 1) await computed();
    visit.response.write(first === '' ? '\n' : first);
    if (!reached(place('part'), visit)) return;
    visit.response.end(second);
  };
  const prompts = Promise.withResolvers<void>();
  const computed = (): Promise<void> =>
    isAtOnce(walk) && (at === undefined || at.role === 'engine')
      ? prompts.promise
      : Promise.resolve();
  const serve = async (role: Role, server: ScriptedServer): Promise<void> => {
    for (let number = 1; ; number++) {
      const visit = await server.next();
      visits.push(visit);
      visit.response.on('error', () => undefined);
      const answered = answer(role, number, visit);
      if (role === 'prefiller') void answered.then(() => visit.closed).then(prompts.resolve);
    }
  };
  const servers = { encoder, bootstrap, prefiller, engine } as const;
  for (const [role, server] of Object.entries(servers)) void serve(role as Role, server);

  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (walk.prefills !== false) headers['x-prefiller-host-port'] = prefiller.address;
  if (walk.encodes === true) headers['x-encoder-hosts-ports'] = encoder.address;
  let status: number | undefined;
  let text: string | undefined;
  const asked = fetch(`http://${sidecar.address}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(walk.body ?? CHAT),
    signal: leaving.signal,
  })
    .then(async (response) => {
      ({ status } = response);
      text = await response.text();
    })
    .catch(() => undefined);
  let done = false;
  void asked.then(() => {
    done = true;
  });
  let polls = 0;
  await eventually(
    () => {
      if (stopped && polls++ % PAUSE_POLLS === 0) clock.advanceTo(clock.now() + limitOf(at));
      if (paused) clock.advanceTo(clock.now() + SIDECAR_DEFAULTS.prefillRetryBackoffMs);
      return done;
    },
    (ended) => ended,
  );
  return { places, visits, text, status, sidecar };
}

async function metricsOf(sidecar: Sidecar): Promise<ReadonlyMap<string, number>> {
  const page = await sidecar.registry.metrics();
  const rows = page.split('\n').filter((line) => !line.startsWith('#') && line !== '');
  return new Map(rows.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

function isCounted(metrics: ReadonlyMap<string, number>): boolean {
  const rows = [...metrics].filter(([name]) => name.startsWith('pointsman_sidecar_requests_total'));
  return rows.reduce((sum, [, count]) => sum + count, 0) === 1;
}

/** Nothing of the request is left: no open answer, no timer, no memory. */
async function expectNothingLeft({ visits, sidecar }: Run): Promise<ReadonlyMap<string, number>> {
  const metrics = await eventually(
    () => metricsOf(sidecar),
    // A request is counted a moment after its connection has closed.
    (found) => found.get('pointsman_sidecar_open_requests') === 0 && isCounted(found),
  );
  await Promise.all(visits.map(({ closed }) => closed));
  await eventually(
    () => counted.openTimers,
    (timers) => timers === 0,
  );
  expect(metrics.get('pointsman_sidecar_buffered_bytes')).toBe(0);
  return metrics;
}

const outcome = (metrics: ReadonlyMap<string, number>, name: string): number | undefined =>
  metrics.get(`pointsman_sidecar_requests_total{outcome="${name}"}`);

it('[T122] walks with every connector', () => {
  const walked = new Set(WALKS.map(({ options }) => options.connector));
  const missing = KV_CONNECTORS.filter((connector) => !walked.has(connector));
  expectNoFault(missing, 'add a walk with these to WALKS of test/support/sidecar/walks.ts');
});

describe.each(WALKS)('$name', (walk) => {
  /** The places of a walk without a fault. */
  async function placesOf(): Promise<readonly Place[]> {
    const found = await run(walk);
    expect(found.status).toBe(200);
    expect(found.text).toContain('[DONE]');
    const metrics = await expectNothingLeft(found);
    expect(outcome(metrics, 'answered')).toBe(1);
    expect(found.places.length % PHASES.length).toBe(0);
    return found.places;
  }

  async function again(): Promise<void> {
    await bed.end();
    ({ engine, prefiller, clock } = await bed.begin());
    encoder = await startScriptedServer();
    bootstrap = await startScriptedServer();
    bed.stops.push(encoder.stop, bootstrap.stop);
    counted = new CountedClock(clock);
  }

  it('[V233] a client that leaves at any stage takes all that was asked for it along, and is counted', async () => {
    for (const place of await placesOf()) {
      await again();
      const found = await run(walk, 'client leaves', place);
      const metrics = await expectNothingLeft(found);
      expect(outcome(metrics, 'client-gone'), nameOf(place)).toBe(1);
      expect(found.sidecar.counts.fellBack, nameOf(place)).toBe(0);
      expect(bed.logged, nameOf(place)).toEqual([]);
    }
  });

  it('[V234] a server that leaves at any stage leaves nothing behind, and the client has an answer or its end', async () => {
    for (const place of await placesOf()) {
      await again();
      const found = await run(walk, 'server leaves', place);
      const metrics = await expectNothingLeft(found);
      const failed = outcome(metrics, 'engine-failed');
      expect(failed === 1 || found.status === 200, nameOf(place)).toBe(true);
      expect(Number(failed) + Number(outcome(metrics, 'answered')), nameOf(place)).toBe(1);
      // What another server has lost, the engine computes.
      if (place.role !== 'engine') expect(found.text, nameOf(place)).toContain('[DONE]');
    }
  });

  it('[V234] so does a server that is silent from any stage on, after its time-out', async () => {
    for (const place of await placesOf()) {
      await again();
      const found = await run(walk, 'server is silent', place);
      const metrics = await expectNothingLeft(found);
      expect(
        Number(outcome(metrics, 'engine-failed')) + Number(outcome(metrics, 'answered')),
        nameOf(place),
      ).toBe(1);
      if (place.role !== 'engine') expect(found.text, nameOf(place)).toContain('[DONE]');
    }
  });
});
