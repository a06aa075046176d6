import { withMembers } from '../openai/json/json-members.ts';
import { within } from '../runtime/clock/deadline.ts';
import { HIT_THRESHOLD } from './contracts/shared-storage.ts';
import { encodeMedia } from './encode-media.ts';
import type { Exchange } from './exchange.ts';
import { fallBack } from './fall-back.ts';

/** The body with its encoders' answers; unchanged if it has no media or an encoder fails. */
export async function encodedElsewhere(
  body: Buffer,
  encoders: readonly string[],
  exchange: Exchange,
): Promise<Buffer> {
  const { headers, upstreams, options, metrics, counts, contract } = exchange;
  const { encodeTimeoutMs: limitMs } = exchange.bounds;
  const { clock, ecConnector } = options;
  const time = { clock, limitMs, signal: exchange.signal, what: 'did not all answer' };
  const begun = clock.now();
  try {
    const collects = ecConnector !== 'ec-example';
    const work = (signal: AbortSignal): Promise<Buffer | undefined> =>
      encodeMedia(body, { upstreams, encoders, headers, collects, signal });
    const sent = await within(time, work);
    if (sent === undefined) return body;
    counts.encoded += 1;
    metrics.onStage('encode', 'done');
    metrics.onDuration('encode', clock.now() - begun);
    // Nothing of the media is cached where the answer is decoded.
    return contract.decodesFirst ? withMembers(sent, { [HIT_THRESHOLD]: '0' }) : sent;
  } catch (error) {
    fallBack('encode', error, exchange, `encode at ${encoders.join(', ')} failed, encoding here`);
    return body;
  }
}
