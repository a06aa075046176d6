import type { Replica } from './replica.ts';

/** All that is worth knowing of a server, as JSON. */
export function stateOf({
  name,
  rank,
  address,
  engine,
  stats,
  faults,
  exchange,
  port,
  loras,
  clock,
  readyAt,
}: Replica): object {
  const { pool } = engine.kv;
  return {
    name,
    rank,
    address,
    ready: clock.now() >= readyAt,
    asleep: engine.asleep,
    running: engine.runningCount,
    waiting: engine.waitingCount,
    kv: { blocks: pool.total, held: pool.held, cached: pool.cached, usage: pool.usage },
    loras: { known: [...loras.keys()], running: [...engine.loras.running] },
    heldPrefills: exchange.heldBy(port),
    transfers: { sending: port.sending, receiving: port.receiving },
    requests: stats.requests,
    finished: stats.finished,
    preemptions: stats.preemptions,
    promptTokens: stats.promptTokens,
    generatedTokens: stats.generatedTokens,
    /** How far the process lags behind its own engine, in model milliseconds. */
    latenessMs: engine.latenessMs,
    faults: faults.active,
  };
}
