import type { IncomingHttpHeaders } from 'node:http';
import type { StubReplica } from '../replica/stub-replica.ts';
import type { GenerationTerms } from '../requests/read-generation.ts';

/** llm-d-inference-sim's header for an image in the answer. */
const IMAGE_HEADER = 'x-send-image';

/** An image of one transparent pixel. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

/** A part of the content of a message. */
export const IMAGE_PART = {
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${PIXEL}` },
};

interface ChatCall {
  readonly replica: StubReplica;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Whether the answer has an image behind its text: where the server makes images, if the header
 * asks for one or the draw says so. Draws nothing otherwise.
 */
export function hasImage({ api }: GenerationTerms, { replica, headers }: ChatCall): boolean {
  const { images } = replica.live;
  if (images === undefined || api !== 'chat') return false;
  if (headers[IMAGE_HEADER] === 'true') return true;
  return images.percent > 0 && 100 * replica.random.next() < images.percent;
}
