import type { ParserType } from '../../framework/parser-type.ts';
import type { PromptReading } from '../../framework/prompt-reading.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { type HashSecret, KeyedHash } from '../../framework/values/keyed-hash.ts';
import { type BodyReader, checkBodyBytes, type RequestHead } from '../body/body-reader.ts';
import type { PriorityOf } from '../body/header-fields.ts';
import type { RewriteOf } from '../body/model-target.ts';
import { UnreadBody } from '../body/unread-body.ts';
import { withoutControls } from '../control-headers.ts';
import { invalidRequest } from '../json/json-text.ts';
import { requestPath, WITHOUT_PATH } from '../request-path.ts';
import { selectReading } from './select-reading.ts';

export interface OpenBodyOptions {
  /** A larger body is rejected with 413, if it is read. */
  readonly bodyBytesMax: number;
  /**
   * Without this secret, nobody can find two prompts with equal block hashes, other than by chance.
   */
  readonly hashSeed: HashSecret;
  readonly priorityOf?: PriorityOf;
  readonly rewriteOf?: RewriteOf | undefined;
  /** In the order of the configuration, which can change; empty for the usual ones. */
  readonly parsers?: (() => readonly ParserType[]) | undefined;
  /** Whether bodies get the picker's priority, which can change. */
  readonly propagatesPriority?: (() => boolean) | undefined;
  /** How prompts are read, which can change. */
  readonly prompts?: (() => PromptReading | undefined) | undefined;
  /**
   * Called with the name of each control header and control field that is ignored, see
   * docs/model-rewrites.md. Undefined: clients are trusted with them.
   */
  readonly onIgnored?: ((control: string) => void) | undefined;
}

const USUAL: readonly ParserType[] = [];

/**
 * Makes readers by path. They throw RoutingError `body-too-large`, and `invalid-request` for a path
 * that no parser reads.
 */
export function createOpenBody({
  bodyBytesMax,
  hashSeed,
  priorityOf = () => 0,
  rewriteOf = () => undefined,
  parsers = () => USUAL,
  propagatesPriority = () => false,
  prompts = () => undefined,
  onIgnored,
}: OpenBodyOptions): (head: RequestHead) => BodyReader {
  const hash = new KeyedHash(hashSeed);
  let listed = parsers();
  let readingOf = selectReading(listed);
  return (received) => {
    const head = onIgnored === undefined ? received : withoutControls(received, onIgnored);
    const path = requestPath(head);
    if (parsers() !== listed) {
      listed = parsers();
      readingOf = selectReading(listed);
    }
    const reading = readingOf(path);
    if (reading === undefined) throw unclaimed(path, listed);
    const given = { head, bodyBytesMax, hash, priorityOf, rewriteOf, onIgnored };
    const reader = reading.open({
      ...given,
      propagatesPriority: propagatesPriority(),
      prompts: prompts(),
    });
    if (reader.unread !== true) {
      checkBodyBytes(Number(head.headers.get('content-length') ?? 0), bodyBytesMax);
    }
    return reader;
  };
}

function unclaimed(path: string, parsers: readonly ParserType[]): Error {
  const shown = path === WITHOUT_PATH ? '' : (path.split('?')[0]?.slice(0, 200) ?? '');
  return invalidRequest(
    `path ${JSON.stringify(shown)} is read by none of this picker's parsers (${parsers.join(', ')}); with passthrough-parser it would pass unread`,
  );
}

/** The request of a head alone: it has no body, or the body does not reach the picker. */
export function headerOnlyRequest(
  head: RequestHead,
  priorityOf: PriorityOf = () => 0,
  hash: KeyedHash = new KeyedHash(0),
): InferenceRequest {
  return new UnreadBody({ head, priorityOf, hash }).end();
}
