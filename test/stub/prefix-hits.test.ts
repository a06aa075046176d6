import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTrace } from '../../src/lab/traces/reading/read-trace.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { Engine } from '../../stub-server/engine/engine.ts';
import { EngineStats } from '../../stub-server/metrics/engine-stats.ts';
import { tellFigure } from '../support/figure.ts';
import { OracleLru } from './oracle-lru.ts';

/** Another trace of the kind can be named, such as the whole hour. */
const TRACE =
  process.env['POINTSMAN_TRACE'] ??
  join(import.meta.dirname, '../../bench/traces/mooncake-conversation-5min.jsonl');

it.for([300, 1000, 5000])(
  'hits what an oracle LRU of %i blocks does, request by request, on the Mooncake conversation trace',
  (kvBlocks, context) => {
    const { requests, blockTokens } = readTrace(TRACE, { lenient: false });
    const clock = new SimulatedClock();
    const engine = new Engine({
      clock,
      latency: () => 1,
      observer: new EngineStats(),
      kvBlocks,
      blockTokens,
      sequencesMax: 8,
      batchedTokensMax: 8192,
      admissionMs: 0,
    });
    const oracle = new OracleLru(kvBlocks);
    let hits = 0;
    let served = 0;
    for (const { promptTokens, outputTokens, blockIds } of requests) {
      // The last token of an answer is never computed.
      const blocks = Math.ceil((promptTokens + outputTokens - 1) / blockTokens);
      if (blocks > kvBlocks) continue;
      const contents = blockIds.map(Number);
      const others = blocks - contents.length;
      // What is cached never reaches the last token of the prompt.
      const findable = Math.floor((promptTokens - 1) / blockTokens);
      const wanted = oracle.serve(contents, { others, findable });
      let cachedTokens = -1;
      engine.submit({
        promptTokens,
        outputTokens,
        blockHashes: contents,
        onDone: (_reason, usage) => {
          cachedTokens = usage.cachedTokens;
        },
      });
      while (clock.step()) continue;
      expect(cachedTokens).toBe(wanted * blockTokens);
      hits += wanted;
      served += 1;
    }
    tellFigure(context, {
      what: `prefix hits of ${served} requests in ${kvBlocks} blocks`,
      promised: 'an oracle LRU’s, one by one',
      measured: `the same, ${hits} blocks in all`,
    });
    expect(hits).toBeGreaterThan(100);
  },
);
