import { RoutingError } from '../../framework/error.ts';
import type { BodyEdit } from '../../openai/body/body-edit.ts';
import { byteGrowth } from '../../openai/body/body-edit.ts';
import type { RequestHead } from '../../openai/body/body-reader.ts';
import { BODY_MODE, type ProtocolConfig } from '../codec/stream-event.ts';

/** When the pick is made, and what the proxy gets before it, by the request's body mode. */
export type PickTime =
  /** Full duplex: at the body's end; until then nothing is answered. */
  | 'body-end'
  /** The body comes in one message, once the headers have been answered. */
  | 'body-message'
  /** The body streams past: the pick is made as soon as enough of it was seen. */
  | 'early'
  /** The body comes after our answer to the headers, or never. */
  | 'headers';

/** Undefined where the body is not edited, or no length was announced. */
export function lengthAfter(
  edit: BodyEdit | undefined,
  { headers }: RequestHead,
): number | undefined {
  const announced = headers.get('content-length');
  if (edit === undefined || announced === undefined) return undefined;
  return Number(announced) + byteGrowth(edit);
}

/**
 * Throws where a body that has ended is not as long as announced. Envoy before 1.37 gives the stream
 * of a picker that has gone to another one without what exceeded 64 KB; what is left may still be
 * JSON, and would be served.
 */
export function checkWhole({ headers }: RequestHead, bodyBytes: number): void {
  const announced = headers.get('content-length');
  if (announced === undefined || Number(announced) === bodyBytes) return;
  throw new RoutingError(
    'body-incomplete',
    `the gateway has sent ${bodyBytes} bytes of a body of ${announced} (content-length); try again`,
  );
}

/** The error of a field of the body that was read too late to be replaced. */
export function lateEdit(field: string, pickTime: PickTime, earlyPickBytes: number): RoutingError {
  return new RoutingError(
    'invalid-request',
    pickTime === 'early'
      ? `field "${field}" comes after ${earlyPickBytes} bytes or more, too late to be replaced: put it before the prompt, or leave it out`
      : `field "${field}" is to be replaced, and this gateway shows the body only after its headers have left: use FULL_DUPLEX_STREAMED or BUFFERED`,
  );
}

export function pickTimeOf({ requestBodyMode, sendsBodyWithoutWaiting }: ProtocolConfig): PickTime {
  switch (requestBodyMode) {
    case BODY_MODE.fullDuplex:
      return 'body-end';
    case BODY_MODE.buffered:
    case BODY_MODE.bufferedPartial:
      return 'body-message';
    case BODY_MODE.streamed:
      return sendsBodyWithoutWaiting ? 'early' : 'headers';
    default:
      return 'headers';
  }
}
