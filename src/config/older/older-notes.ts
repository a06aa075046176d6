import type { ConfigNote } from '../../picker/plan/config-note.ts';

/** What is said about the parts of a configuration that were written for an older release. */
export class OlderNotes {
  readonly list: ConfigNote[] = [];

  /** The part works; `write` is how it is written now. */
  works(path: string, write: string): void {
    const text = `${path} is of an older release of the reference picker, and works; write ${write}`;
    this.list.push({ path, reason: 'deprecated', text });
  }

  /** The part has no effect, and `instead` is what the picker does in its place. */
  leavesOut(path: string, instead: string | undefined): void {
    const why = instead ?? 'it is of an older release of the reference picker';
    const text = `${path} has no effect: ${why}; leave it out`;
    this.list.push({ path, reason: instead === undefined ? 'obsolete' : 'own-way', text });
  }
}
