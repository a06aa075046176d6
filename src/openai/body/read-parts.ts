import type { PromptReading } from '../../framework/prompt-reading.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import type { RequestHead } from './body-reader.ts';
import type { PriorityOf } from './header-fields.ts';
import type { RewriteOf } from './model-target.ts';

/** What reading one request needs, beside the way to read it. */
export interface ReadParts {
  readonly head: RequestHead;
  readonly bodyBytesMax: number;
  readonly hash: KeyedHash;
  readonly priorityOf: PriorityOf;
  readonly rewriteOf: RewriteOf;
  /** Called for each control field of the body, which is then replaced; undefined keeps them. */
  readonly onIgnored: ((control: string) => void) | undefined;
  /** Whether the body gets the picker's priority of the request. */
  readonly propagatesPriority?: boolean;
  readonly prompts?: PromptReading | undefined;
}
